(() => {
  const form = document.getElementById("filters");
  if (!form) return;
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
  apply();
})();
