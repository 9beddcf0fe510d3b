import cluster from 'node:cluster'
import { pino, type Logger } from 'pino'
import type { LogLevel } from '../../config/log-settings.ts'
import { currentTimestamp } from '../../lib/time/current-timestamp.ts'
import { openLineWriter } from './line-writer.ts'

export type { Logger }

/** The log of a gateway. */
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
  const options = { level, base: null, timestamp: () => `,"time":"${currentTimestamp()}"` }
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
      lines.write(`{"level":${level},"time":"${currentTimestamp()}"${members},"msg":"${message}"}\n`)
    },
    close: () => lines.close(),
  }
}
