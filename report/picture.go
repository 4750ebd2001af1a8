package report

import (
	"math"
	"strings"
)

// A picture shows an interval of improvements against zero and the margin in
// 33 columns: four columns a margin, four margins to each side.
//
//	◄━━━●━━━━   ┊   │   ┊
const (
	pictureWidth  = 33
	pictureCentre = pictureWidth / 2
	marginColumns = 4
)

// picture draws one interval; empty where there is none. An estimate outside of
// it, which can happen where the interval is that of several attempts, is
// hollow.
func picture(interval [2]float64, estimate, margin float64) string {
	lo, hi := interval[0], interval[1]
	if math.IsNaN(lo) || math.IsNaN(hi) || lo > hi || !(margin > 0) {
		return ""
	}
	cells := []rune(strings.Repeat(" ", pictureWidth))
	for _, c := range []int{pictureCentre - marginColumns, pictureCentre + marginColumns} {
		cells[c] = '┊'
	}
	cells[pictureCentre] = '│'
	from, to := pictureColumn(lo, margin), pictureColumn(hi, margin)
	for i := max(from, 0); i <= min(to, pictureWidth-1); i++ {
		if cells[i] == ' ' {
			cells[i] = '━'
		} else {
			cells[i] = '┿'
		}
	}
	if e := pictureColumn(estimate, margin); !math.IsNaN(estimate) && e >= 0 && e < pictureWidth {
		cells[e] = '●'
		if estimate < lo || estimate > hi {
			cells[e] = '○'
		}
	}
	if from < 0 {
		cells[0] = '◄'
	}
	if to >= pictureWidth {
		cells[pictureWidth-1] = '►'
	}
	return strings.TrimRight(string(cells), " ")
}

// pictureColumn is the column of an improvement, outside of the picture where
// the improvement is.
func pictureColumn(x, margin float64) int {
	c := math.Round(x / margin * marginColumns)
	return pictureCentre + int(math.Max(-pictureWidth, math.Min(pictureWidth, c)))
}

// pictureScale is the heading over the pictures: worse to the left, better to
// the right, and where zero and the margin are.
func pictureScale(margin float64) string {
	m := strings.ReplaceAll(exactPercent(margin), " ", "")
	cells := []rune(strings.Repeat(" ", pictureWidth))
	put := func(centre int, s string) {
		r := []rune(s)
		for i := range r {
			if at := centre - len(r)/2 + i; at >= 0 && at < len(cells) {
				cells[at] = r[i]
			}
		}
	}
	put(2, "worse")
	put(pictureWidth-3, "better")
	put(pictureCentre-marginColumns-1, "-"+m)
	put(pictureCentre+marginColumns+1, "+"+m)
	put(pictureCentre, "0")
	return string(cells)
}
