import { destination, pino, type Logger } from 'pino'

/** How much is logged: `info` has a line for every request, `warn` only what somebody should look at. */
export const logLevels = ['error', 'warn', 'info', 'debug', 'silent'] as const

export type LogLevel = (typeof logLevels)[number]
export type { Logger }

/** A log of JSON lines on standard error, so that standard output holds only what commands promise to print. */
export function createLog(level: LogLevel): Logger {
  return pino({ level, base: null, timestamp: () => `,"time":"${new Date().toISOString()}"` }, destination(2))
}
