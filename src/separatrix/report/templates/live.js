(() => {
  "use strict";
  const EVERY = 2000; // milliseconds between two requests
  const SVG = "http://www.w3.org/2000/svg";
  const at = (id) => document.getElementById(id);
  const marks = JSON.parse(document.body.dataset.marks);
  const make = (tag, text, name) => {
    const node = document.createElement(tag);
    if (text !== undefined) node.textContent = text; // never markup: texts come from data
    if (name) node.className = name;
    return node;
  };
  const number = (value) => {
    if (value === null || value === undefined) return "—";
    return value.toLocaleString("en", { maximumFractionDigits: 1 });
  };
  const ago = (seconds) => {
    if (seconds === null) return "none yet";
    if (seconds < 90) return Math.round(seconds) + " s ago";
    if (seconds < 5400) return Math.round(seconds / 60) + " min ago";
    return Math.round(seconds / 3600) + " h ago";
  };
  const row = (cells, name) => {
    const line = make("tr", undefined, name);
    for (const content of cells) {
      line.append(content instanceof Node ? content : make("td", content));
    }
    return line;
  };
  const cell = (text, name) => make("td", text, name);
  const scrollable = (label, table) => {
    const box = make("div", undefined, "scroll");
    box.tabIndex = 0;
    box.setAttribute("role", "region");
    box.setAttribute("aria-label", label);
    box.append(table);
    return box;
  };
  const shape = (tag, attributes) => {
    const node = document.createElementNS(SVG, tag);
    for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
    return node;
  };

  // One threshold as a line between its ends with its estimate, on the axis of its table. An
  // unknown end is at the edge of the axis.
  const drawInterval = (search, low, high) => {
    const svg = shape("svg", {
      class: "bounds", viewBox: "0 0 200 12", preserveAspectRatio: "none", "aria-hidden": "true",
    });
    const x = (value) => 4 + (192 * (Math.log(value) - low)) / (high - low || 1);
    const line = { x1: 4, x2: 196, y1: 6, y2: 6 };
    svg.append(shape("line", { ...line, class: "rule" }));
    if (search.low !== null || search.high !== null) {
      const ends = { x1: search.low ? x(search.low) : 4, x2: search.high ? x(search.high) : 196 };
      svg.append(shape("line", { ...line, ...ends }));
    }
    if (search.estimate) svg.append(shape("circle", { cx: x(search.estimate), cy: 6, r: 3 }));
    return svg;
  };

  const showThresholds = (all) => {
    const groups = new Map();
    for (const search of all) {
      const key = JSON.stringify([search.study, search.what]);
      groups.set(key, [...(groups.get(key) || []), search]);
    }
    at("searches").hidden = !groups.size;
    at("tables").replaceChildren();
    const goesOn = (search) => !search.settled;
    const groupGoesOn = ([, searches]) => searches.some(goesOn);
    const sorted = [...groups].sort((a, b) => groupGoesOn(b) - groupGoesOn(a));
    for (const [key, searches] of sorted) {
      const [study, what] = JSON.parse(key);
      const open = searches.filter(goesOn).length, total = searches.length;
      const name = (study ? study + ": " : "") + what;
      const state = open ? open + " of " + total + " go on" : "all " + total + " ended";
      at("tables").append(make("h3", name + " – " + state));
      const values = searches.flatMap((search) => [search.estimate, search.low, search.high]);
      const ends = values.filter(Boolean).map(Math.log);
      // A margin, so that only unknown ends are at the edge.
      const margin = 0.06 * (Math.max(...ends) - Math.min(...ends)) || 0.5;
      const [low, high] = [Math.min(...ends) - margin, Math.max(...ends) + margin];
      const table = make("table", undefined, "data");
      const head = make("thead"), body = make("tbody"), titles = make("tr");
      for (const title of ["cell", "threshold [interval]", "", "trials", "search"]) {
        const header = make("th", title, title === "trials" ? "number" : "");
        header.scope = "col";
        titles.append(header);
      }
      head.append(titles);
      for (const search of searches) {
        const picture = make("td");
        picture.append(drawInterval(search, low, high));
        const trials = cell(number(search.trials), "number");
        const ended = cell(search.settled ? "ended" : "goes on");
        const cells = [cell(search.cell), cell(search.text, "effect"), picture, trials, ended];
        body.append(row(cells, search.settled ? "" : "open"));
      }
      table.append(head, body);
      at("tables").append(scrollable(name, table));
    }
  };

  const showStudies = (all) => {
    at("studies").hidden = !all.length;
    at("found").replaceChildren();
    for (const { study, verdicts, effects } of all) {
      const head = make("h3", study + " ");
      for (const [verdict, count] of Object.entries(verdicts)) {
        const known = Object.hasOwn(marks, verdict);
        const text = (known ? marks[verdict] + " " : "") + count + " " + verdict;
        head.append(make("span", text, "badge" + (known ? " " + verdict : "")), " ");
      }
      const table = make("table", undefined, "data"), body = make("tbody");
      for (const { claim, quantity, effect } of effects) {
        body.append(row([cell(claim), cell(quantity), cell(effect, "effect")]));
      }
      table.append(body);
      at("found").append(head, scrollable("effects of " + study, table));
    }
  };

  const showTrials = (kinds) => {
    at("trials").hidden = !kinds.length;
    const lines = kinds.map(({ task, network, trials, status }) => {
      const counts = Object.entries(status).sort((a, b) => b[1] - a[1]);
      const ended = counts.map(([name, count]) => number(count) + " " + name).join(", ");
      return row([cell(task), cell(network), cell(number(trials), "number"), cell(ended)]);
    });
    at("kinds").replaceChildren(...lines);
  };

  const shown = {};
  const update = (key, value, draw) => { // draws only changes: a reader may be scrolling
    const text = JSON.stringify(value);
    if (shown[key] !== text) draw(value);
    shown[key] = text;
  };

  const progress = ({ studies, study, what, done, total }) => {
    const index = studies.indexOf(study) + 1;
    const count = studies.length > 1 ? " (study " + index + " of " + studies.length + ")" : "";
    const sweep = ": " + what + ", " + number(done) + " of " + number(total) + " trials";
    return (study ? study + count : "") + (what && total ? sweep : "");
  };

  const show = (state) => {
    const { going } = state;
    const ended = state.runs_finished ? "No run is going on." : "";
    at("now").textContent = going.ended ? ended : progress(going);
    at("bar").hidden = going.ended || !going.total;
    at("bar").value = going.total ? going.done / going.total : 0;
    const facts = [
      ["finished trials", number(state.trials)],
      ["trials per second", number(state.trials_per_second) + " over the last minute"],
      ["last trials", ago(state.seconds_since_last)],
      ["other calculations", number(state.calculations)],
      ["finished runs", number(state.runs_finished)],
    ];
    if (state.unreadable_parts) {
      const text = number(state.unreadable_parts) + "; the next run computes them again";
      facts.push(["chunks that cannot be read", text]);
    }
    at("facts").replaceChildren(...facts.map(([name, text]) => {
      const part = make("div");
      part.append(make("dt", name), make("dd", text));
      return part;
    }));
    at("report").hidden = !state.report;
    update("thresholds", state.thresholds, showThresholds);
    update("studies", state.studies, showStudies);
    update("kinds", state.kinds, showTrials);
  };

  const ask = async () => {
    try {
      const answer = await fetch("live.json", { cache: "no-store" });
      if (!answer.ok) throw new Error(answer.statusText);
      const state = await answer.json();
      show(state);
      const going = state.going.ended ? "." : "; a run is going on.";
      at("state").textContent = "is shown as it is now" + going;
      at("state").className = "";
    } catch {
      at("state").textContent =
        "cannot be read any more: `separatrix serve` has ended. Below is its last answer.";
      at("state").className = "lost";
    }
    setTimeout(ask, EVERY);
  };
  ask();
})();
