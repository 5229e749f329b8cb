"""A figure as inline SVG: text stays text, colours follow the page, and no style attribute needs a looser policy."""

import io
import re
import xml.etree.ElementTree as xml

import matplotlib
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

SVG = "http://www.w3.org/2000/svg"
LINK = "http://www.w3.org/1999/xlink"
# What a plot is drawn with, and the class of page.css that it becomes.
COLOURS = {
    "#010101": "ink",
    "#020202": "muted",
    "#030303": "line",
    "#040404": "accent",
    "#050505": "bad",
    "#060606": "paper",
}
INK, MUTED, LINE, ACCENT, BAD, PAPER = COLOURS

matplotlib.rcParams.update(
    {
        "svg.fonttype": "none",
        "svg.hashsalt": "warpcheck",
        "font.size": 9,
        "axes.edgecolor": MUTED,
        "axes.labelcolor": INK,
        "axes.facecolor": "none",
        "text.color": INK,
        "xtick.color": MUTED,
        "ytick.color": MUTED,
        "xtick.labelcolor": INK,
        "ytick.labelcolor": INK,
        "grid.color": LINE,
        "legend.frameon": False,
    }
)
xml.register_namespace("", SVG)
xml.register_namespace("xlink", LINK)


def figure(width, height):
    """In inches; the page makes it smaller where its column is."""
    return Figure(figsize=(width, height), layout="constrained", facecolor="none")


def leave_room_above(drawn, artist):
    """Keeps the axes below an artist at the figure's upper edge: `loc="outside ..."` needs matplotlib 3.7."""
    height = artist.get_window_extent(FigureCanvasAgg(drawn).get_renderer()).height
    drawn.get_layout_engine().set(rect=(0, 0, 1, 1 - height / drawn.bbox.height))


def _style(element):
    """The style attribute as attributes of its own, colours as classes."""
    # A hatch has its colours as attributes.
    classes = [
        f"{name[0]}-{COLOURS[element.attrib.pop(name)]}" for name in ("fill", "stroke") if element.get(name) in COLOURS
    ]
    for part in element.attrib.pop("style", "").split(";"):
        name, _, value = part.strip().partition(":")
        value = value.strip()
        if name == "font":
            size = re.search(r"([\d.]+)px", value)
            element.set("font-size", size.group(1) if size else "9")
        elif name in ("fill", "stroke") and value in COLOURS:
            classes.append(f"{name[0]}-{COLOURS[value]}")
        elif name:
            element.set(name, value)
    if classes:
        element.set("class", " ".join(classes))


def inline(drawn, key, title, description):
    """The <svg> element with its title and description; `key` makes its ids unique on the page."""
    text = io.StringIO()
    drawn.savefig(text, format="svg", metadata={"Date": None, "Creator": None, "Format": None, "Type": None})
    root = xml.fromstring(text.getvalue())
    for parent in list(root.iter()):
        for child in list(parent):
            if child.tag in (f"{{{SVG}}}metadata", f"{{{SVG}}}style"):
                parent.remove(child)
    renamed = {}
    for element in root.iter():
        if "id" in element.attrib:
            renamed[element.get("id")] = f"{key}-{len(renamed)}"
    used = set(re.findall(r"url\(#([^)]+)\)", text.getvalue())) | set(re.findall(r'href="#([^"]+)"', text.getvalue()))
    for element in root.iter():
        _style(element)
        identity = element.attrib.pop("id", None)
        if identity in used:
            element.set("id", renamed[identity])
        for name, value in list(element.attrib.items()):
            if name == f"{{{LINK}}}href" and value.startswith("#"):
                element.set(name, "#" + renamed[value[1:]])
            elif value.startswith("url(#"):
                element.set(name, f"url(#{renamed[value[5:-1]]})")
        # Coordinates to a hundredth of a point: the rest is size without sight.
        for name in ("d", "transform", "x", "y", "points"):
            if name in element.attrib:
                element.set(name, re.sub(r"(\.\d\d)\d+", r"\1", element.get(name)))
    root.set("role", "img")
    root.set("aria-labelledby", f"{key}-title {key}-description")
    for position, (tag, content) in enumerate((("title", title), ("desc", description))):
        element = xml.Element(f"{{{SVG}}}{tag}", {"id": f"{key}-{'title' if tag == 'title' else 'description'}"})
        element.text = content
        root.insert(position, element)
    return xml.tostring(root, encoding="unicode")


def alone(text, style):
    """The same as a file of its own, with the colours of page.css."""
    rules = (
        re.search(r":root \{.*?\n\}\n@media[^\n]*\n.*?\n\}", style, re.S)[0]
        + "\n"
        + "\n".join(re.findall(r"^\.[fs]-.*$", style, re.M))
    )
    sheet = f"<style>{rules}\nsvg {{ background: var(--paper); font-family: 'DejaVu Sans', sans-serif; }}</style>"
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + text.replace(">", f">{sheet}", 1) + "\n"
