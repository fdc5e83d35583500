(() => {
  "use strict";
  const NEAR = 22; // farthest distance of the pointer from its point, in the drawing's units
  const make = (tag, text, name) => {
    const node = document.createElement(tag);
    if (text !== undefined) node.textContent = text; // never markup: texts come from data
    if (name) node.className = name;
    return node;
  };

  // Claims: filtered by paper, verdict and words, and sorted.
  const form = document.getElementById("filters");
  if (form) {
    const rows = [...document.querySelectorAll("table.claims tbody tr:not(.question)")];
    const homes = rows.map((row) => row.parentNode);
    const table = document.querySelector("table.claims");
    const sorted = document.createElement("tbody");
    const verdicts = ["refuted", "undecided", "supported", "not measured"];
    const text = (row) => row.cells[0].textContent;
    const keys = {
      surprise: (row) => 10 * (1 - row.dataset.contradicts) + verdicts.indexOf(row.dataset.verdict),
      verdict: (row) => verdicts.indexOf(row.dataset.verdict),
      statement: () => 0,
    };
    const place = () => {
      const key = keys[form.order.value];
      rows.forEach((row, i) => homes[i].append(row));
      if (key) {
        const order = [...rows].sort((a, b) => key(a) - key(b) || text(a).localeCompare(text(b)));
        sorted.append(...order);
        table.append(sorted);
      } else sorted.remove();
    };
    const apply = () => {
      const words = form.words.value.toLowerCase();
      let shown = 0;
      for (const row of rows) {
        const differs = (key) => form[key].value && row.dataset[key] !== form[key].value;
        row.hidden = ["paper", "verdict"].some(differs) || !text(row).toLowerCase().includes(words);
        shown += row.hidden ? 0 : 1;
      }
      for (const group of document.querySelectorAll("tbody.group")) {
        group.hidden = !group.querySelector("tr:not(.question):not([hidden])");
      }
      const folded = document.querySelector("details.unmeasured");
      if (folded && form.verdict.value === "not measured") folded.open = true;
      form.querySelector("output").textContent = shown + " of " + rows.length + " claims";
    };
    form.hidden = false;
    form.addEventListener("change", () => { place(); apply(); });
    form.addEventListener("input", apply);
    form.addEventListener("submit", (event) => event.preventDefault());
    apply();
  }

  // Numbers as the rest of the page writes them.
  const superscript = (sign) => (sign === "-" ? "⁻" : "⁰¹²³⁴⁵⁶⁷⁸⁹"[Number(sign)]);
  const number = (value) => {
    if (value === null || value === undefined || value === "") return "—";
    if (typeof value !== "number") return String(value);
    const size = Math.abs(value);
    let text;
    if (size !== 0 && (size < 1e-4 || size >= 1e9)) {
      const [mantissa, exponent] = size.toExponential(2).split("e");
      const power = [...exponent.replace("+", "")].map(superscript).join("");
      text = Number(mantissa) + "×10" + power;
    } else {
      text = Number.isInteger(size) ? String(size) : String(Number(size.toPrecision(5)));
      if (size >= 1e4) text = text.replace(/\B(?=(\d{3})+(?!\d))/g, ",");
    }
    return value < 0 ? "−" + text : text;
  };

  const quoted = (value) => {
    const words = new Map([[null, ""], [true, "True"], [false, "False"]]);
    const text = words.has(value) ? words.get(value) : String(value);
    return /[",\r\n]/.test(text) ? '"' + text.replaceAll('"', '""') + '"' : text;
  };
  const csv = (data) => {
    const lines = [data.head];
    for (const group of data.groups) {
      for (let i = 0; i < (group.columns[0] || []).length; i++) {
        lines.push([...group.lead, ...group.columns.map((column) => column[i])]);
      }
    }
    return lines.map((line) => line.map(quoted).join(",") + "\n").join("");
  };

  const describe = (data, group, i) => {
    const [x, y, low, high, trials] = group.columns.map((column) => column[i]);
    if (data.kind === "cells") {
      const [value, text, bound] = [low, high, trials];
      const texts = [number(x), number(y), text || number(value)];
      const lines = texts.map((text, column) => data.head[column] + ": " + text);
      return { name: "", lines: bound ? [...lines, "only a bound"] : lines };
    }
    const known = low !== null || high !== null;
    const ends = known ? " [" + number(low) + ", " + number(high) + "]" : "";
    const lines = [data.head[2] + ": " + number(x), data.head[3] + ": " + number(y) + ends];
    const noun = trials === 1 ? " trial" : " trials";
    if (trials !== null) lines.push("from " + number(trials) + noun);
    const role = { samples: "single seed", measured: "" }[group.lead[1]] ?? group.lead[1];
    return { name: group.lead[0] + (role ? " (" + role + ")" : ""), lines };
  };

  const activate = (figure) => {
    const svg = figure.querySelector(".chart > svg");
    const chart = svg.parentNode;
    const boxes = [...figure.querySelectorAll(".legend input")];
    const off = new Set();
    let data, points, at = -1;
    const read = () => { // not before it is needed: a page may have hundreds of figures
      if (data) return;
      data = JSON.parse(figure.dataset.figure);
      points = [];
      for (const group of data.groups) {
        group.at.forEach((place, i) => {
          if (place) points.push({ x: place[0], y: place[1], group, i });
        });
      }
    };

    const tip = make("div", "", "tip");
    tip.setAttribute("role", "status");
    tip.hidden = true;
    const ring = document.createElementNS("http://www.w3.org/2000/svg", "circle");
    ring.setAttribute("r", "6");
    ring.setAttribute("class", "ring off");
    const hide = () => {
      tip.hidden = true;
      ring.setAttribute("class", "ring off");
      at = -1;
    };

    for (const box of boxes) {
      box.hidden = false;
      box.addEventListener("change", () => {
        for (const series of box.dataset.series.split(" ")) {
          box.checked ? off.delete(series) : off.add(series);
          for (const part of svg.querySelectorAll('[data-s="' + series + '"]')) {
            part.classList.toggle("off", !box.checked);
          }
        }
        box.closest("li").classList.toggle("off", !box.checked);
        hide();
      });
    }

    const button = figure.querySelector(".tools button");
    if (button) {
      button.hidden = false;
      button.addEventListener("click", () => {
        read();
        const link = make("a");
        link.href = URL.createObjectURL(new Blob([csv(data)], { type: "text/csv" }));
        link.download = figure.dataset.file;
        link.click();
        setTimeout(() => URL.revokeObjectURL(link.href), 10000);
      });
    }
    if (figure.dataset.kind === "pixels") return;

    chart.append(tip);
    svg.append(ring);
    const visible = () => points.filter((point) => !off.has(String(point.group.s)));
    const show = (point) => {
      // Points of several curves at one place are all described.
      const close = (a, b) => Math.abs(a - b) < 1.5;
      const others = visible().filter(
        (other) => other !== point && close(other.x, point.x) && close(other.y, point.y));
      const together = [point, ...others];
      tip.replaceChildren();
      for (const { group, i } of together.slice(0, 4)) {
        const { name, lines } = describe(data, group, i);
        const part = make("div");
        if (name) part.append(make("b", name));
        for (const line of lines) part.append(make("span", line));
        tip.append(part);
      }
      const more = together.length - 4;
      if (more > 0) tip.append(make("div", "and " + more + " more here"));
      tip.hidden = false;
      ring.setAttribute("cx", point.x);
      ring.setAttribute("cy", point.y);
      ring.setAttribute("class", "ring");
      const box = svg.viewBox.baseVal;
      const scale = svg.clientWidth / box.width || chart.clientWidth / box.width;
      const [left, top] = [(point.x - box.x) * scale, (point.y - box.y) * scale];
      const room = chart.clientWidth - tip.offsetWidth;
      const onRight = left > chart.clientWidth / 2;
      const beside = onRight ? left - tip.offsetWidth - 12 : left + 12;
      tip.style.left = Math.max(0, Math.min(room, beside)) + "px";
      tip.style.top = Math.max(0, top - tip.offsetHeight - 10) + "px";
    };
    const showNearest = (event) => {
      read();
      const frame = svg.getBoundingClientRect();
      const box = svg.viewBox.baseVal;
      const x = box.x + ((event.clientX - frame.left) / frame.width) * box.width;
      const y = box.y + ((event.clientY - frame.top) / frame.height) * box.height;
      let nearest = null, least = data.kind === "cells" ? Infinity : NEAR * NEAR;
      for (const point of visible()) {
        const distance = (point.x - x) ** 2 + (point.y - y) ** 2;
        if (distance < least) [nearest, least] = [point, distance];
      }
      nearest ? show(nearest) : hide();
    };
    chart.addEventListener("pointermove", showNearest);
    chart.addEventListener("pointerdown", showNearest);
    chart.addEventListener("pointerleave", hide);

    // The keyboard: left and right along a series, up and down to another one.
    chart.tabIndex = 0;
    chart.setAttribute("role", "group");
    const title = svg.getAttribute("aria-label");
    chart.setAttribute("aria-label", "Points of “" + title + "”: the arrow keys read them");
    chart.addEventListener("blur", hide);
    chart.addEventListener("keydown", (event) => {
      const arrows = { Left: [-1, 0], Right: [1, 0], Up: [0, -1], Down: [0, 1] };
      const steps = arrows[event.key.replace("Arrow", "")];
      if (event.key === "Escape") hide();
      if (!steps) return;
      event.preventDefault();
      read();
      const all = visible();
      if (!all.length) return;
      let next = Math.min(Math.max(at, 0), all.length - 1);
      if (at >= 0 && steps[0]) next = Math.min(Math.max(at + steps[0], 0), all.length - 1);
      if (at >= 0 && steps[1]) {
        const groups = [...new Set(all.map((point) => point.group))];
        const index = groups.indexOf(all[next].group) + steps[1] + groups.length;
        const group = groups[index % groups.length];
        next = all.findIndex((point) => point.group === group);
      }
      show(all[next]);
      at = next;
    });
  };
  for (const figure of document.querySelectorAll("figure[data-figure]")) activate(figure);
})();
