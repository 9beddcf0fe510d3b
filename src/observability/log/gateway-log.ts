import cluster from 'node:cluster'
import { pino, type Logger } from 'pino'
import { z } from 'zod'
import { openLineWriter } from './line-writer.ts'

/** How much is logged: `info` has a line for every request, `warn` only what somebody should look at. */
const logLevels = ['error', 'warn', 'info', 'debug', 'silent'] as const

export type LogLevel = (typeof logLevels)[number]
export type { Logger }

/** How the gateway logs, as it stands in the settings. */
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

/** The log of a gateway. */
export interface GatewayLog {
  readonly logger: Logger
  /**
   * A line like those of the logger, for what is logged with each request: it takes a fraction of the time. Members
   * are JSON, each with the comma before it. The message is plain: nothing in it has to be escaped.
   */
  write(level: 'info' | 'warn' | 'error', members: string, message: string): void
  /** Resolves when every line is written. Lines that come later are written when the process ends, if it ends well. */
  close(): Promise<void>
}

/**
 * A log of JSON lines on standard error, so that standard output holds only what commands promise to print. A line is
 * written within a second, or when the process ends; lines that nobody takes are lost rather than waited for.
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

/** Tells the time as text, which is made once a millisecond. */
function createClock(): () => string {
  let at = 0
  let text = ''
  return () => {
    const now = Date.now()
    if (now !== at) text = new Date((at = now)).toISOString()
    return text
  }
}
