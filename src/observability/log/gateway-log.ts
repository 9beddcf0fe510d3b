import cluster from 'node:cluster'
import { pino, type Logger } from 'pino'
import type { LogLevel } from '../../config/log-settings.ts'
import { openLineWriter } from './line-writer.ts'

export type { Logger }

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
