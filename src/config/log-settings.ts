import { z } from 'zod'

/** `info` includes a line for every request; `warn` only events that need attention. */
const logLevels = ['error', 'warn', 'info', 'debug', 'silent'] as const

export type LogSettings = z.output<typeof logSchema>

export const logSchema = z.strictObject({
  format: z
    .enum(['json', 'text'])
    .default('json')
    .describe('`json` for programs; `text`, with fewer members, for a person at a terminal.'),
  level: z.enum(logLevels).default('info').describe('Minimum log level.'),
  sample: z
    .strictObject({
      success: z
        .number()
        .min(0)
        .max(1)
        .default(1)
        .describe(
          'Ratio of successful reads that are logged. Changes, refusals and failures are always logged.',
        ),
    })
    .prefault({})
    .describe('Random sampling of request lines.'),
})
