import { z } from 'zod'

const milliseconds = new Map([
  ['ms', 1],
  ['s', 1000],
  ['m', 60_000],
  ['h', 3_600_000],
])

/** A duration such as `500ms`, `30s`, `1.5m` or `2h`; parsed to whole milliseconds, at least 1. */
export const durationSchema = z.string().transform((text, context) => {
  const [, number, unit = ''] = /^(\d{1,9}(?:\.\d{1,9})?)(ms|s|m|h)$/.exec(text.trim()) ?? []
  const result = Math.round(Number(number) * (milliseconds.get(unit) ?? Number.NaN))
  if (result >= 1) return result
  context.addIssue({ code: 'custom', message: 'expected a duration above zero such as 500ms, 30s or 5m' })
  return z.NEVER
})
