(() => {
  "use strict";
  const NEAR = 22; // in the drawing's units: farther away, the pointer means no point
  const make = (tag, text, name) => {
    const node = document.createElement(tag);
    if (text !== undefined) node.textContent = text; // never markup: texts come from data
    if (name) node.className = name;
    return node;
  };

  // The claims: by paper and by verdict.
  const form = document.getElementById("filters");
  if (form) {
    const rows = [...document.querySelectorAll("table.claims tbody tr")];
    const apply = () => {
      let shown = 0;
      for (const row of rows) {
        row.hidden = ["paper", "verdict"].some((key) => form[key].value && row.dataset[key] !== form[key].value);
        shown += row.hidden ? 0 : 1;
      }
      form.querySelector("output").textContent = shown + " of " + rows.length + " claims";
    };
    form.hidden = false;
    form.addEventListener("change", apply);
    form.addEventListener("submit", (event) => event.preventDefault());
    apply();
  }

  // Numbers as the rest of the page writes them.
  const SUPERSCRIPTS = { "-": "⁻", 0: "⁰", 1: "¹", 2: "²", 3: "³", 4: "⁴", 5: "⁵", 6: "⁶", 7: "⁷", 8: "⁸", 9: "⁹" };
  const number = (value) => {
    if (value === null || value === undefined || value === "") return "—";
    if (typeof value !== "number") return String(value);
    const size = Math.abs(value);
    let text;
    if (size !== 0 && (size < 1e-4 || size >= 1e9)) {
      const [mantissa, exponent] = size.toExponential(2).split("e");
      text = Number(mantissa) + "×10" + [...exponent.replace("+", "")].map((each) => SUPERSCRIPTS[each]).join("");
    } else {
      text = Number.isInteger(size) ? String(size) : String(Number(size.toPrecision(5)));
      if (size >= 1e4) text = text.replace(/\B(?=(\d{3})+(?!\d))/g, ",");
    }
    return value < 0 ? "−" + text : text;
  };

  const quoted = (value) => {
    const text = value === null ? "" : value === true ? "True" : value === false ? "False" : String(value);
    return /[",\r\n]/.test(text) ? '"' + text.replaceAll('"', '""') + '"' : text;
  };
  const csv = (data) => {
    const lines = [data.head];
    for (const group of data.groups) {
      for (let i = 0; i < (group.columns[0] || []).length; i++) lines.push([...group.lead, ...group.columns.map((column) => column[i])]);
    }
    return lines.map((line) => line.map(quoted).join(",") + "\n").join("");
  };

  const told = (data, group, i) => {
    const [x, y, low, high, trials] = group.columns.map((column) => column[i]);
    if (data.kind === "cells") {
      const [value, text, bound] = [low, high, trials];
      const lines = [data.head[0] + ": " + number(x), data.head[1] + ": " + number(y), data.head[2] + ": " + (text || number(value))];
      return { name: "", lines: bound ? [...lines, "only a bound"] : lines };
    }
    const ends = low === null && high === null ? "" : " [" + number(low) + ", " + number(high) + "]";
    const lines = [data.head[2] + ": " + number(x), data.head[3] + ": " + number(y) + ends];
    if (trials !== null) lines.push("from " + number(trials) + (trials === 1 ? " trial" : " trials"));
    const role = { samples: "single seed", measured: "" }[group.lead[1]] ?? group.lead[1];
    return { name: group.lead[0] + (role ? " (" + role + ")" : ""), lines };
  };

  const bring = (figure) => {
    const svg = figure.querySelector(".chart > svg");
    const chart = svg.parentNode;
    const boxes = [...figure.querySelectorAll(".legend input")];
    const off = new Set();
    let data, points, at = -1;
    const read = () => { // only when it is needed: a page may have hundreds of figures
      if (data) return;
      data = JSON.parse(figure.dataset.figure);
      points = [];
      for (const group of data.groups) {
        group.at.forEach((place, i) => { if (place) points.push({ x: place[0], y: place[1], group, i }); });
      }
    };

    const tip = make("div", "", "tip");
    tip.setAttribute("role", "status");
    tip.hidden = true;
    const ring = document.createElementNS("http://www.w3.org/2000/svg", "circle");
    ring.setAttribute("r", "6");
    ring.setAttribute("class", "ring off");
    const hide = () => { tip.hidden = true; ring.setAttribute("class", "ring off"); at = -1; };

    for (const box of boxes) {
      box.hidden = false;
      box.addEventListener("change", () => {
        for (const series of box.dataset.series.split(" ")) {
          box.checked ? off.delete(series) : off.add(series);
          for (const part of svg.querySelectorAll('[data-s="' + series + '"]')) part.classList.toggle("off", !box.checked);
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
      // Curves that run over each other are all told.
      const same = visible().filter((each) => Math.abs(each.x - point.x) < 1.5 && Math.abs(each.y - point.y) < 1.5);
      const some = [point, ...same.filter((each) => each !== point)];
      tip.replaceChildren();
      for (const each of some.slice(0, 4)) {
        const { name, lines } = told(data, each.group, each.i);
        const part = make("div");
        if (name) part.append(make("b", name));
        for (const line of lines) part.append(make("span", line));
        tip.append(part);
      }
      if (some.length > 4) tip.append(make("div", "and " + (some.length - 4) + " more here"));
      tip.hidden = false;
      ring.setAttribute("cx", point.x);
      ring.setAttribute("cy", point.y);
      ring.setAttribute("class", "ring");
      const box = svg.viewBox.baseVal;
      const scale = svg.clientWidth / box.width || chart.clientWidth / box.width;
      const [left, top] = [(point.x - box.x) * scale, (point.y - box.y) * scale];
      const room = chart.clientWidth - tip.offsetWidth;
      tip.style.left = Math.max(0, Math.min(room, left > chart.clientWidth / 2 ? left - tip.offsetWidth - 12 : left + 12)) + "px";
      tip.style.top = Math.max(0, top - tip.offsetHeight - 10) + "px";
    };
    const point = (event) => {
      read();
      const frame = svg.getBoundingClientRect();
      const box = svg.viewBox.baseVal;
      const x = box.x + ((event.clientX - frame.left) / frame.width) * box.width;
      const y = box.y + ((event.clientY - frame.top) / frame.height) * box.height;
      let best = null, least = data.kind === "cells" ? Infinity : NEAR * NEAR;
      for (const each of visible()) {
        const far = (each.x - x) ** 2 + (each.y - y) ** 2;
        if (far < least) [best, least] = [each, far];
      }
      best ? show(best) : hide();
    };
    chart.addEventListener("pointermove", point);
    chart.addEventListener("pointerdown", point);
    chart.addEventListener("pointerleave", hide);

    // With the keyboard: left and right along a series, up and down to another.
    chart.tabIndex = 0;
    chart.setAttribute("role", "group");
    chart.setAttribute("aria-label", "Points of “" + svg.getAttribute("aria-label") + "”: the arrow keys read them");
    chart.addEventListener("blur", hide);
    chart.addEventListener("keydown", (event) => {
      const steps = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
      if (event.key === "Escape") hide();
      if (!steps) return;
      event.preventDefault();
      read();
      const all = visible();
      if (!all.length) return;
      let next = Math.min(Math.max(at, 0), all.length - 1);
      if (at >= 0 && steps[0]) next = Math.min(Math.max(at + steps[0], 0), all.length - 1);
      if (at >= 0 && steps[1]) {
        const groups = [...new Set(all.map((each) => each.group))];
        const group = groups[(groups.indexOf(all[next].group) + steps[1] + groups.length) % groups.length];
        next = all.findIndex((each) => each.group === group);
      }
      show(all[next]);
      at = next;
    });
  };
  for (const figure of document.querySelectorAll("figure[data-figure]")) bring(figure);
})();
