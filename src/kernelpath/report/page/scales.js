// Scales: from numbers to places in a picture, with round ticks.
const extent = (values) => {
  let low = Infinity, high = -Infinity;
  for (const value of values) {
    if (!known(value)) continue;
    if (value < low) low = value;
    if (value > high) high = value;
  }
  return low <= high ? [low, high] : null;
};

function niceStep(span, count) {
  const rough = span / Math.max(count, 1);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].find((m) => m * power >= rough * 0.999) || 10;
  return step * power;
}

// from > to is allowed: the path of lp-KTA goes from p = 2 down to p = 1.
function linear(from, to, start, end, count) {
  if (from === to) {
    const middle = (start + end) / 2;
    return { place: (value) => middle + (value - from) * (end - start), ticks: [{ value: from, place: middle, text: short(from) }] };
  }
  const place = (value) => start + ((value - from) / (to - from)) * (end - start);
  const low = Math.min(from, to), high = Math.max(from, to);
  let step = niceStep(high - low, count);
  const inside = () => Math.floor(high / step + 1e-9) - Math.ceil(low / step - 1e-9) + 1;
  while (inside() < 2) step = niceStep(step, 2.5); // one number alone gives no scale
  const digits = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
  const ticks = [];
  for (let i = Math.ceil(low / step - 1e-9); i <= high / step + 1e-9; i++) {
    const value = i * step + 0; // never -0
    const text = step >= 1e6 || step < 1e-4 ? short(value) : value.toLocaleString("en-GB", { minimumFractionDigits: digits, maximumFractionDigits: digits });
    ticks.push({ value, place: place(value), text: minus(text === "-0" ? "0" : text) });
  }
  return { place, ticks };
}

// Few sizes are ticks themselves, unless round numbers tell more, as far as they do not touch.
const FEW_SIZES = 12;
function sizeTicks(sizes, place) {
  const rank = (k) => ({ 1: 0, 5: 1, 2: 2 })[k / 10 ** Math.floor(Math.log10(k))] ?? 3;
  const half = (k) => 3.6 * whole(k).length + 3;
  const kept = [];
  for (const k of sizes.filter((k) => k > 0).sort((a, b) => rank(a) - rank(b) || a - b)) {
    if (kept.every((other) => Math.abs(place(k) - place(other)) >= half(k) + half(other))) kept.push(k);
  }
  return kept.sort((a, b) => a - b).map((value) => ({ value, place: place(value), text: whole(value) }));
}

// Days since 1970, with ticks at round dates; from < to.
const DAY = 86400000;
const isDate = (days) => Math.abs(days) < 1e8; // what a Date can hold
const dateText = (days) => (isDate(days) ? new Date(days * DAY).toISOString().slice(0, 10) : short(days));
function calendar(from, to, start, end, count) {
  const scale = linear(from, to, start, end, count);
  if (!isDate(from) || !isDate(to) || to - from < 2) return { ...scale, ticks: scale.ticks.map((tick) => ({ ...tick, text: dateText(tick.value) })).slice(0, 2) };
  const wanted = (to - from) / Math.max(count, 1);
  const first = new Date(from * DAY), ticks = [];
  const months = [1, 2, 3, 6].find((m) => m * 30.4 >= wanted) || 12 * niceStep(wanted / 365, 1);
  const options = wanted < 20 ? { day: "numeric", month: "short" } : months < 12 ? { month: "short", year: "numeric" } : { year: "numeric" };
  const add = (time) => {
    const value = time / DAY;
    if (value >= from && value <= to) ticks.push({ value, place: scale.place(value), text: new Date(time).toLocaleDateString("en-GB", { ...options, timeZone: "UTC" }) });
  };
  if (wanted < 20) {
    const step = Math.max(1, Math.round(niceStep(wanted, 1)));
    for (let day = Math.ceil(from); day <= to; day += step) add(day * DAY);
  } else if (months < 12) {
    for (let m = Math.ceil(first.getUTCMonth() / months) * months, i = 0; i < 40; i++, m += months) add(Date.UTC(first.getUTCFullYear(), m, 1));
  } else {
    const years = Math.round(months / 12);
    for (let year = Math.ceil(first.getUTCFullYear() / years) * years, i = 0; i < 40; i++, year += years) add(new Date(0).setUTCFullYear(year, 0, 1));
  }
  return ticks.length > 1 ? { ...scale, ticks } : { ...scale, ticks: [from, to].map((value) => ({ value, place: scale.place(value), text: dateText(value) })) };
}

// Logarithmic for counts; none has its own place, half a step below 1.
function counts(low, high, start, end, room, sizes = []) {
  const log = (k) => Math.log10(Math.max(k, 0.5));
  let from = log(low), to = log(high);
  if (from === to) { from -= 0.3; to += 0.3; }
  const place = (k) => start + ((log(k) - from) / (to - from)) * (end - start);
  const own = sizes.length <= FEW_SIZES ? sizeTicks(sizes, place) : [];
  const length = Math.abs(end - start);
  const decades = to - from;
  const fine = length / Math.max(decades * 3, 1) >= room;
  const every = Math.max(1, Math.ceil((decades * room) / length));
  const ticks = [];
  if (low === 0) ticks.push({ value: 0, place: place(0), text: "none" });
  for (let power = 0; power <= Math.floor(to + 1e-9); power += every) {
    for (const lead of fine ? [1, 2, 5] : [1]) {
      const value = lead * 10 ** power;
      if (value >= low && value <= high) ticks.push({ value, place: place(value), text: whole(value) });
    }
  }
  if (own.length > 0 && own.length >= ticks.length) return { place, ticks: own };
  if (ticks.length < 2) {
    const values = low === high ? [low] : [low, high];
    return { place, ticks: values.map((value) => ({ value, place: place(value), text: value ? whole(value) : "none" })) };
  }
  return { place, ticks };
}

const powerText = (power) => (power >= 0 && power < 4 ? whole(10 ** power) : minus(`1e${power}`));

// Logarithmic, for numbers above 0.  Ends at whole powers of ten, or at the data.
function powers(low, high, start, end, room, tight = false) {
  const bottom = tight ? Math.log10(low) : Math.floor(Math.log10(low));
  const top = tight ? Math.log10(high) : Math.max(Math.ceil(Math.log10(high)), bottom + 1);
  const place = (value) => start + ((Math.log10(Math.max(value, 10 ** bottom)) - bottom) / (top - bottom)) * (end - start);
  const every = Math.max(1, Math.ceil(((top - bottom) * room) / Math.abs(end - start)));
  const ticks = [];
  for (let power = Math.ceil(bottom - 1e-9); power <= top + 1e-9; power += every) {
    ticks.push({ value: 10 ** power, place: place(10 ** power), text: powerText(power) });
  }
  return { place, ticks };
}

// Places of the points of the path: its parameter if it only goes one way, else their order.
function alongPath(start, end) {
  const parameter = S.points.parameter;
  const n = parameter.length;
  const one = (sign) => parameter.every((v, i) => known(v) && (i === 0 || sign * (v - parameter[i - 1]) >= 0));
  const count = Math.max(3, Math.floor(Math.abs(end - start) / 90));
  if (one(1) || one(-1)) {
    const from = parameter[0], to = parameter[n - 1];
    const [low, high] = extent(parameter);
    if (low > 0 && high / low > 50) {
      const flip = from > to;
      const scale = powers(low, high, flip ? end : start, flip ? start : end, 60, true);
      return { ...scale, at: (i) => scale.place(parameter[i]), label: parameterLabel(), parametric: true };
    }
    const scale = linear(from, to, start, end, count);
    if (parameter.every(Number.isInteger)) { // counts have no ticks in between
      scale.ticks = scale.ticks.filter((tick) => Number.isInteger(tick.value)).map((tick) => ({ ...tick, text: short(tick.value) }));
    }
    return { ...scale, at: (i) => scale.place(parameter[i]), label: parameterLabel(), parametric: true };
  }
  const scale = linear(1, Math.max(n, 2), start, end, Math.min(count, n));
  scale.ticks = scale.ticks.filter((tick) => Number.isInteger(tick.value));
  return { ...scale, at: (i) => scale.place(i + 1), label: "point of the path", parametric: false };
}

// Points at which a parameter that has grown falls, or the other way round.
function turns() {
  const found = [];
  let way = 0;
  S.points.parameter.forEach((v, i, all) => {
    const step = i > 0 && known(v) && known(all[i - 1]) ? Math.sign(v - all[i - 1]) : 0;
    if (step !== 0 && way !== 0 && step !== way) found.push(i - 1);
    if (step !== 0) way = step;
  });
  return found;
}

function nearest(places, x) {
  let best = 0;
  places.forEach((place, i) => { if (Math.abs(place - x) < Math.abs(places[best] - x)) best = i; });
  return best;
}

// Moves labels apart: sorted places at least gap from each other, inside [low, high].
function spread(wanted, gap, low, high) {
  const order = wanted.map((_, i) => i).sort((a, b) => wanted[a] - wanted[b]);
  const room = wanted.length > 1 ? (high - low) / (wanted.length - 1) : gap;
  const step = Math.min(gap, room);
  const result = wanted.slice();
  let last = -Infinity;
  for (const i of order) { result[i] = Math.max(wanted[i], last + step, low); last = result[i]; }
  let next = Infinity;
  for (const i of order.slice().reverse()) { result[i] = Math.min(result[i], next - step, high); next = result[i]; }
  return result;
}
