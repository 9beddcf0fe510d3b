import { z } from 'zod'

/** `info` includes a line for every request; `warn` only events that need attention. */
const logLevels = ['error', 'warn', 'info', 'debug', 'silent'] as const

export type LogSettings = z.output<typeof logSchema>

export const logSchema = z.strictObject({
  level: z.enum(logLevels).default('info').describe('Minimum log level.'),
})
