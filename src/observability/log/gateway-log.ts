import cluster from 'node:cluster'
import { pino, type Logger } from 'pino'
import { z } from 'zod'
import { openLineWriter } from './line-writer.ts'

/** `info` logs a line per request; `warn` only events that need attention. */
const logLevels = ['error', 'warn', 'info', 'debug', 'silent'] as const

export type LogLevel = (typeof logLevels)[number]
export type { Logger }

export const logSchema = z.strictObject({
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

export interface GatewayLog {
  readonly logger: Logger
  /**
   * Writes a line like those of the logger, in a fraction of the time; used for request lines. `members` are JSON, each
   * preceded by a comma. `message` must not need escaping.
   */
  write(level: 'info' | 'warn' | 'error', members: string, message: string): void
  /** Resolves when every line is written. Later lines are written when the process exits normally. */
  close(): Promise<void>
}

/**
 * Opens a log of JSON lines on standard error; standard output is reserved for command output. A line is written within
 * a second, or when the process exits. If the reader is blocked, lines are dropped rather than awaited.
 */
export function openLog(level: LogLevel, onLost: (lines: number) => void): GatewayLog {
  const time = createClock()
  const options = { level, base: null, timestamp: () => `,"time":"${time()}"` }
  if (level === 'silent') {
    return {
      logger: pino(options, { write: () => undefined }),
      write: () => undefined,
      close: () => Promise.resolve(),
    }
  }
  const lines = openLineWriter(process.stderr.fd, { onLost, isShared: cluster.isWorker })
  const logger = pino(options, lines)
  return {
    logger,
    write(lineLevel, members, message) {
      if (!logger.isLevelEnabled(lineLevel)) return
      const level = logger.levels.values[lineLevel]
      lines.write(`{"level":${level},"time":"${time()}"${members},"msg":"${message}"}\n`)
    },
    close: () => lines.close(),
  }
}

/** Formats the current time, once per millisecond. */
function createClock(): () => string {
  let at = 0
  let text = ''
  return () => {
    const now = Date.now()
    if (now !== at) text = new Date((at = now)).toISOString()
    return text
  }
}
