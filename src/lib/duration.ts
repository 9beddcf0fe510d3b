/** Milliseconds by the spellings that clients write. */
const milliseconds = new Map(
  (
    [
      [1, 'ms msec msecs milli millis millisecond milliseconds'],
      [1000, 's sec secs second seconds'],
      [60_000, 'm min mins minute minutes'],
      [3_600_000, 'h hr hrs hour hours'],
      [86_400_000, 'd day days'],
    ] as const
  ).flatMap(([value, units]) => units.split(' ').map((unit): [string, number] => [unit, value])),
)

const part = String.raw`(\d{1,9}(?:\.\d{1,9})?) ?([a-z]+)`
const parts = new RegExp(part, 'gi')
const writtenParts = new RegExp(`^${part}(?: ?${part})*$`, 'i')
/** ISO 8601, without years, months and weeks. */
const isoDuration = /^P(?:\d{1,9}D)?(?:T(?:\d{1,9}H)?(?:\d{1,9}M)?(?:\d{1,9}(?:\.\d{1,9})?S)?)?$/

/**
 * Parses a duration such as `500ms`, `30s`, `1.5m`, `2 hours`, `1m 30s`, or `PT1M30S` of ISO 8601 to whole milliseconds; NaN
 * if the text is none.
 */
export function parseDuration(text: string): number {
  const trimmed = text.trim()
  const written = isoDuration.test(trimmed) ? trimmed.replaceAll(/[PT]/g, ' ').trim() : trimmed
  return writtenParts.test(written) ? Math.round(sumParts(written)) : Number.NaN
}

/** In milliseconds; NaN for an unknown unit. */
function sumParts(text: string): number {
  let sum = 0
  for (const [, number, unit = ''] of text.matchAll(parts))
    sum += Number(number) * (milliseconds.get(unit.toLowerCase()) ?? Number.NaN)
  return sum
}
