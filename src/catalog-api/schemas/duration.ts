import { z } from 'zod'

/** Milliseconds by the spellings that clients write. */
const milliseconds = new Map(
  (
    [
      [1, 'ms millisecond milliseconds'],
      [1000, 's sec secs second seconds'],
      [60_000, 'm min mins minute minutes'],
      [3_600_000, 'h hr hrs hour hours'],
    ] as const
  ).flatMap(([value, units]) => units.split(' ').map((unit): [string, number] => [unit, value])),
)

/** A duration such as `500ms`, `30s`, `1.5m`, `2 hours`; parsed to whole milliseconds, at least 1. */
export const durationSchema = z.string().transform((text, context) => {
  const [, number, unit = ''] = /^(\d{1,9}(?:\.\d{1,9})?) ?([a-z]+)$/i.exec(text.trim()) ?? []
  const result = Math.round(Number(number) * (milliseconds.get(unit.toLowerCase()) ?? Number.NaN))
  if (result >= 1) return result
  context.addIssue({
    code: 'custom',
    message: 'expected a duration above zero such as 500ms, 30s, 5m or 2 hours',
  })
  return z.NEVER
})
