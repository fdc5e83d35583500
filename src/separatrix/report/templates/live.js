(() => {
  "use strict";
  const EVERY = 2000;
  const SVG = "http://www.w3.org/2000/svg";
  const at = (id) => document.getElementById(id);
  const marks = JSON.parse(document.body.dataset.marks);
  const make = (tag, text, name) => {
    const node = document.createElement(tag);
    if (text !== undefined) node.textContent = text; // never markup: texts come from data
    if (name) node.className = name;
    return node;
  };
  const number = (value) => (value === null || value === undefined ? "—" : value.toLocaleString("en", { maximumFractionDigits: 1 }));
  const ago = (seconds) => {
    if (seconds === null) return "none yet";
    if (seconds < 90) return Math.round(seconds) + " s ago";
    return seconds < 5400 ? Math.round(seconds / 60) + " min ago" : Math.round(seconds / 3600) + " h ago";
  };
  const row = (cells, name) => {
    const line = make("tr", undefined, name);
    for (const each of cells) line.append(each instanceof Node ? each : make("td", each));
    return line;
  };
  const cell = (text, name) => make("td", text, name);

  // One threshold as a line from end to end with its estimate, on the axis of its table; an end that is not known runs off the axis.
  const drawn = (each, low, high) => {
    const svg = document.createElementNS(SVG, "svg");
    svg.setAttribute("class", "bounds");
    svg.setAttribute("viewBox", "0 0 200 12");
    svg.setAttribute("preserveAspectRatio", "none");
    svg.setAttribute("aria-hidden", "true");
    const x = (value) => 4 + (192 * (Math.log(value) - low)) / (high - low || 1);
    const line = (from, to, name) => {
      const made = document.createElementNS(SVG, "line");
      for (const [key, value] of Object.entries({ x1: from, x2: to, y1: 6, y2: 6 })) made.setAttribute(key, value);
      if (name) made.setAttribute("class", name);
      svg.append(made);
    };
    line(4, 196, "rule");
    if (each.low !== null || each.high !== null) line(each.low ? x(each.low) : 4, each.high ? x(each.high) : 196);
    if (each.estimate) {
      const dot = document.createElementNS(SVG, "circle");
      for (const [key, value] of Object.entries({ cx: x(each.estimate), cy: 6, r: 3 })) dot.setAttribute(key, value);
      svg.append(dot);
    }
    return svg;
  };

  const thresholds = (all) => {
    const groups = new Map();
    for (const each of all) {
      const key = JSON.stringify([each.study, each.what]);
      groups.set(key, [...(groups.get(key) || []), each]);
    }
    at("searches").hidden = !groups.size;
    at("tables").replaceChildren();
    const busy = ([, rows]) => rows.some((each) => !each.settled);
    for (const [key, rows] of [...groups].sort((a, b) => busy(b) - busy(a))) { // searches that go on come first
      const [study, what] = JSON.parse(key);
      const open = rows.filter((each) => !each.settled).length;
      const name = (study ? study + ": " : "") + what;
      at("tables").append(make("h3", name + (open ? " – " + open + " of " + rows.length + " go on" : " – all " + rows.length + " ended")));
      const ends = rows.flatMap((each) => [each.estimate, each.low, each.high]).filter(Boolean).map(Math.log);
      const room = 0.06 * (Math.max(...ends) - Math.min(...ends)) || 0.5; // so that a line which ends at the edge is one whose end is not known
      const [low, high] = [Math.min(...ends) - room, Math.max(...ends) + room];
      const box = make("div", undefined, "scroll");
      box.tabIndex = 0;
      box.setAttribute("role", "region");
      box.setAttribute("aria-label", name);
      const table = make("table", undefined, "data");
      const head = make("thead"), body = make("tbody"), titles = make("tr");
      for (const title of ["cell", "threshold [interval]", "", "trials", "search"]) {
        const made = make("th", title, title === "trials" ? "number" : "");
        made.scope = "col";
        titles.append(made);
      }
      head.append(titles);
      for (const each of rows) {
        const picture = make("td");
        picture.append(drawn(each, low, high));
        const cells = [cell(each.cell), cell(each.text, "effect"), picture, cell(number(each.trials), "number"), cell(each.settled ? "ended" : "goes on")];
        body.append(row(cells, each.settled ? "" : "open"));
      }
      table.append(head, body);
      box.append(table);
      at("tables").append(box);
    }
  };

  const studies = (all) => {
    at("studies").hidden = !all.length;
    at("found").replaceChildren();
    for (const each of all) {
      const head = make("h3", each.study + " ");
      for (const [verdict, count] of Object.entries(each.verdicts)) {
        const known = Object.hasOwn(marks, verdict);
        head.append(make("span", (known ? marks[verdict] + " " : "") + count + " " + verdict, "badge" + (known ? " " + verdict : "")), " ");
      }
      const box = make("div", undefined, "scroll");
      box.tabIndex = 0;
      box.setAttribute("role", "region");
      box.setAttribute("aria-label", "effects of " + each.study);
      const table = make("table", undefined, "data"), body = make("tbody");
      for (const one of each.effects) body.append(row([cell(one.claim), cell(one.quantity), cell(one.effect, "effect")]));
      table.append(body);
      box.append(table);
      at("found").append(head, box);
    }
  };

  const seen = {};
  const anew = (key, value, draw) => { // what has not changed is left alone: a reader may be scrolling or selecting
    const text = JSON.stringify(value);
    if (seen[key] !== text) draw(value);
    seen[key] = text;
  };

  const show = (told) => {
    const { going } = told;
    const place = going.studies.indexOf(going.study);
    const which = going.study ? going.study + (going.studies.length > 1 ? " (study " + (place + 1) + " of " + going.studies.length + ")" : "") : "";
    const sweep = going.what && going.total ? ": " + going.what + ", " + number(going.done) + " of " + number(going.total) + " trials" : "";
    at("now").textContent = going.ended ? (told.runs_finished ? "No run is going on." : "") : which + sweep;
    at("bar").hidden = going.ended || !going.total;
    at("bar").value = going.total ? going.done / going.total : 0;
    const facts = [
      ["trials finished", number(told.trials)],
      ["trials a second", number(told.trials_per_second) + " over the last minute"],
      ["last trials", ago(told.seconds_since_last)],
      ["other calculations", number(told.calculations)],
      ["runs that have ended", number(told.runs_finished)],
    ];
    if (told.unreadable_parts) facts.push(["chunks that cannot be read", number(told.unreadable_parts) + "; the next run computes them anew"]);
    at("facts").replaceChildren(...facts.map(([name, text]) => {
      const part = make("div");
      part.append(make("dt", name), make("dd", text));
      return part;
    }));
    at("report").hidden = !told.report;
    anew("thresholds", told.thresholds, thresholds);
    anew("studies", told.studies, studies);
    anew("kinds", told.kinds, trials);
  };
  const trials = (kinds) => {
    at("trials").hidden = !kinds.length;
    at("kinds").replaceChildren(...kinds.map((each) => {
      const ended = Object.entries(each.status).sort((a, b) => b[1] - a[1]).map(([name, count]) => number(count) + " " + name).join(", ");
      return row([cell(each.task), cell(each.network), cell(number(each.trials), "number"), cell(ended)]);
    }));
  };

  const ask = async () => {
    try {
      const answer = await fetch("live.json", { cache: "no-store" });
      if (!answer.ok) throw new Error(answer.statusText);
      const told = await answer.json();
      show(told);
      at("state").textContent = told.going.ended ? "is shown as it is now." : "is shown as it is now; a run is going on.";
      at("state").className = "";
    } catch {
      at("state").textContent = "cannot be read any more: `separatrix serve` has ended. What is below was the last answer.";
      at("state").className = "lost";
    }
    setTimeout(ask, EVERY);
  };
  ask();
})();
