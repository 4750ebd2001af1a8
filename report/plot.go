package report

import (
	"bytes"
	"fmt"
	"image/color"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"

	"github.com/prbench/prbench/report/stats"
)

// theme is the colours of a picture on a light or a dark page.
type theme struct {
	paper, ink, faint, band color.Color
	worse, better, even     color.Color
	open                    color.Color
}

var (
	lightTheme = theme{
		paper: hex(0xffffff), ink: hex(0x1f2328), faint: hex(0x8c959f), band: hex(0xeef1f4),
		worse: hex(0xc2410c), better: hex(0x15803d), even: hex(0x0369a1), open: hex(0x6e7781),
	}
	darkTheme = theme{
		paper: hex(0x0d1117), ink: hex(0xe6edf3), faint: hex(0x7d8590), band: hex(0x1c232b),
		worse: hex(0xfb923c), better: hex(0x4ade80), even: hex(0x38bdf8), open: hex(0x9aa4ae),
	}
)

func hex(rgb uint32) color.Color {
	return color.RGBA{uint8(rgb >> 16), uint8(rgb >> 8), uint8(rgb), 255}
}

// verdictColour tells worse, better, unchanged and open apart; the words beside
// the picture say the same for those who see no colours.
func (t theme) verdictColour(v stats.Verdict) color.Color {
	switch v {
	case stats.Regression, stats.Slower, stats.SlowerWithin:
		return t.worse
	case stats.Faster:
		return t.better
	case stats.Equivalent, stats.NoWorse:
		return t.even
	}
	return t.open
}

// Sizes of the pictures.
const (
	plotWidth   = 9 * vg.Inch
	forestRow   = 16 * vg.Inch / 72
	forestFrame = 50 * vg.Inch / 72
	stripHeight = 66 * vg.Inch / 72
	stripDots   = 200 // a side
)

// forest draws the rows' intervals below each other, worst at the top, against
// zero and the band of the margin. It is nil where no row has an interval.
func forest(rows []*Row, margin float64, t theme) *picturePlot {
	f := forestPlot{margin: margin, theme: t}
	for _, row := range rows {
		if i := row.pictured(); row.OnlyOn == "" && !math.IsNaN(i[0]) && !math.IsNaN(i[1]) {
			f.rows = append(f.rows, row)
		}
	}
	if len(f.rows) == 0 {
		return nil
	}
	p := newPlot(t)
	p.X.Label.Text = "improvement, % (plus is better)"
	reach := f.reach()
	p.X.Min, p.X.Max = -100*reach, 100*reach
	p.X.Tick.Marker = marginTicks(reach, margin)
	p.Y.Min, p.Y.Max = -.5, float64(len(f.rows))-.3
	var ticks plot.ConstantTicks
	for i, row := range f.rows {
		ticks = append(ticks, plot.Tick{Value: f.y(i), Label: shorten(Visible(row.ID), 60)})
	}
	p.Y.Tick.Marker = ticks
	p.Add(f)
	return &picturePlot{p, forestFrame + forestRow*vg.Length(len(f.rows))}
}

// marginTicks are at zero and at multiples of the margin.
func marginTicks(reach, margin float64) plot.ConstantTicks {
	step := margin * math.Max(1, math.Ceil(reach/margin/6))
	ticks := plot.ConstantTicks{{Value: 0, Label: "0"}}
	for x := step; x <= reach; x += step {
		label := strings.TrimSuffix(Percent(x), " %")
		ticks = append(ticks, plot.Tick{Value: 100 * x, Label: "+" + label}, plot.Tick{Value: -100 * x, Label: "-" + label})
	}
	return ticks
}

type forestPlot struct {
	rows   []*Row
	margin float64
	theme  theme
}

func (f forestPlot) y(i int) float64 { return float64(len(f.rows) - 1 - i) }

// reach is how far the picture goes to each side: so far that most intervals
// are inside, at least four margins.
func (f forestPlot) reach() float64 {
	var ends []float64
	for _, row := range f.rows {
		for _, e := range row.Interval {
			if !math.IsInf(e, 0) {
				ends = append(ends, math.Abs(e))
			}
		}
	}
	if len(ends) == 0 {
		return 4 * f.margin
	}
	slices.Sort(ends)
	return math.Max(4*f.margin, 1.05*ends[(len(ends)-1)*9/10])
}

// Plot implements plot.Plotter.
func (f forestPlot) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	at := func(v float64) vg.Length { return min(max(x(100*v), c.Min.X), c.Max.X) }
	c.FillPolygon(f.theme.band, []vg.Point{
		{X: at(-f.margin), Y: c.Min.Y}, {X: at(f.margin), Y: c.Min.Y}, {X: at(f.margin), Y: c.Max.Y}, {X: at(-f.margin), Y: c.Max.Y}})
	c.StrokeLine2(draw.LineStyle{Color: f.theme.faint, Width: vg.Points(1)}, at(0), c.Min.Y, at(0), c.Max.Y)
	for i, row := range f.rows {
		colour := f.theme.verdictColour(row.Verdict)
		h := y(f.y(i))
		lo, hi := row.Interval[0], row.Interval[1]
		c.StrokeLine2(draw.LineStyle{Color: colour, Width: vg.Points(2)}, at(lo), h, at(hi), h)
		for _, end := range row.Interval {
			if v := x(100 * end); v >= c.Min.X && v <= c.Max.X {
				c.StrokeLine2(draw.LineStyle{Color: colour, Width: vg.Points(2)}, v, h-vg.Points(3), v, h+vg.Points(3))
			}
		}
		if e := row.Stat.Improvement; !math.IsNaN(e) && x(100*e) >= c.Min.X && x(100*e) <= c.Max.X {
			var shape draw.GlyphDrawer = draw.CircleGlyph{}
			if e < lo || e > hi {
				shape = draw.RingGlyph{}
			}
			c.DrawGlyph(draw.GlyphStyle{Color: colour, Radius: vg.Points(3.5), Shape: shape}, vg.Point{X: x(100 * e), Y: h})
		}
	}
}

// strip draws every sample of a row as a dot, old above new, with the means. It
// is nil where there are no samples.
func strip(row *Row, t theme) *picturePlot {
	s := stripPlot{row: row, theme: t}
	lo, hi := math.Inf(1), math.Inf(-1)
	for side, v := range [][]float64{row.series.Old.Value, row.series.New.Value} {
		for i, x := range v {
			if math.IsNaN(x) || math.IsInf(x, 0) {
				continue
			}
			lo, hi = math.Min(lo, x), math.Max(hi, x)
			if len(v) <= stripDots || i%(len(v)/stripDots+1) == 0 {
				s.dots[side] = append(s.dots[side], x)
			}
		}
	}
	if !(lo <= hi) {
		return nil
	}
	p := newPlot(t)
	margin := math.Max((hi-lo)*.03, math.Abs(hi)*1e-6)
	if margin == 0 {
		margin = 1
	}
	p.X.Min, p.X.Max = lo-margin, hi+margin
	p.X.Tick.Marker = shortTicks{}
	p.Y.Min, p.Y.Max = -.5, 1.5
	p.Y.Tick.Marker = plot.ConstantTicks{{Value: 1, Label: "old"}, {Value: 0, Label: "new"}}
	p.Add(s)
	return &picturePlot{p, stripHeight}
}

type stripPlot struct {
	row   *Row
	dots  [2][]float64
	theme theme
}

// Plot implements plot.Plotter. The dots are spread by the golden ratio, which
// gives the same picture each time.
func (s stripPlot) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	colours := []color.Color{s.theme.faint, s.theme.verdictColour(s.row.Verdict)}
	for side, dots := range s.dots {
		for i, v := range dots {
			_, spread := math.Modf(float64(i) * math.Phi)
			at := vg.Point{X: x(v), Y: y(float64(1-side) + .5*(spread-.5))}
			c.DrawGlyph(draw.GlyphStyle{Color: colours[side], Radius: vg.Points(1.8), Shape: draw.CircleGlyph{}}, at)
		}
		mean := []Side{s.row.Stat.Old, s.row.Stat.New}[side].Mean
		if m := x(mean); !math.IsNaN(mean) && m >= c.Min.X && m <= c.Max.X {
			c.StrokeLine2(draw.LineStyle{Color: s.theme.ink, Width: vg.Points(1.5)}, m, y(float64(1-side)-.35), m, y(float64(1-side)+.35))
		}
	}
}

// newPlot is an empty plot in the colours of a theme.
func newPlot(t theme) *plot.Plot {
	p := plot.New()
	p.BackgroundColor = t.paper
	for _, a := range []*plot.Axis{&p.X, &p.Y} {
		a.LineStyle.Color, a.Tick.LineStyle.Color = t.faint, t.faint
		a.Label.TextStyle.Color, a.Tick.Label.Color = t.ink, t.ink
		sans := font.Font{Typeface: "Liberation", Variant: "Sans", Size: vg.Points(9)}
		a.Label.TextStyle.Font, a.Tick.Label.Font = sans, sans
		a.Padding = vg.Points(2)
	}
	p.Y.LineStyle.Width, p.Y.Tick.LineStyle.Width = 0, 0
	return p
}

// picturePlot is a plot of plotWidth with its height.
type picturePlot struct {
	plot   *plot.Plot
	height vg.Length
}

// svg writes the picture as SVG text, with the reader's own fonts.
func (p *picturePlot) svg() ([]byte, error) {
	c := vgsvg.New(plotWidth, p.height)
	p.plot.Draw(draw.New(c))
	var b bytes.Buffer
	if _, err := c.WriteTo(&b); err != nil {
		return nil, fmt.Errorf("draw: %w", err)
	}
	return bytes.ReplaceAll(b.Bytes(), []byte("font-family:Liberation Sans"), []byte("font-family:system-ui,'Liberation Sans',sans-serif")), nil
}
