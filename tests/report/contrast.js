// Every text of the page with a contrast below 4.5 (WCAG 2.1, 1.4.3), by the colours that the browser computed.
const parse = text => { const n = text.match(/[\d.]+/g).map(Number); return n.length < 4 ? [...n, 1] : n; };
const luminance = ([r, g, b]) => {
  const f = v => { v /= 255; return v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; };
  return 0.2126 * f(r) + 0.7152 * f(g) + 0.0722 * f(b);
};
const ground = element => {
  for (let e = element; e; e = e.parentElement) {
    const color = parse(getComputedStyle(e).backgroundColor);
    if (color[3] === 1) return color;
    if (color[3] > 0) return [0, 0, 0, 1];  // a mixture is not used
  }
  return [255, 255, 255, 1];
};
const found = [];
let texts = 0;
for (const element of document.body.querySelectorAll("*")) {
  if (["SCRIPT", "STYLE", "TITLE", "DESC", "title", "desc"].includes(element.tagName)) continue;
  const own = Array.from(element.childNodes).some(n => n.nodeType === 3 && n.textContent.trim());
  if (!own || !element.getClientRects().length) continue;
  ++texts;
  const style = getComputedStyle(element);
  const color = parse(element instanceof SVGElement ? style.fill : style.color);
  const pair = [luminance(color), luminance(ground(element))].sort((a, b) => b - a);
  const contrast = (pair[0] + 0.05) / (pair[1] + 0.05);
  if (!(contrast >= 4.5)) {
    found.push(`${contrast.toFixed(2)}: ${element.tagName} '${element.textContent.trim().slice(0, 40)}'`);
  }
}
return {texts, found};
