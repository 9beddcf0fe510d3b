import { pino, type Logger } from 'pino'
import type { LogSettings } from '../../config/index.ts'
import { currentTimestamp } from '../../lib/time.ts'
import { openLineWriter } from './line-writer.ts'
import { formatTextLine } from './text-line.ts'

export type { Logger }

export interface GatewayLog {
  readonly logger: Logger
  /** Faster than the logger. `members` are JSON, each preceded by a comma. `message` must not need escaping. */
  write(level: 'info' | 'warn' | 'error', members: string, message: string): void
  /** Resolves when every line is written. Later lines are written when the process exits normally. */
  close(): Promise<void>
}

/**
 * Writes lines to standard error within a second, or on exit: JSON, or on a terminal lines for a person. If the reader is blocked, lines are dropped rather than
 * awaited.
 */
export function openLog({ level }: LogSettings, onLost: (lines: number) => void): GatewayLog {
  const options = { level, base: null, timestamp: () => `,"time":"${currentTimestamp()}"` }
  if (level === 'silent') {
    return {
      logger: pino(options, { write: () => undefined }),
      write: () => undefined,
      close: () => Promise.resolve(),
    }
  }
  const lines = openLineWriter(process.stderr.fd, { onLost })
  const writeLine = process.stderr.isTTY
    ? (line: string) => lines.write(formatTextLine(line))
    : (line: string) => lines.write(line)
  const logger = pino(options, { write: writeLine })
  return {
    logger,
    write(lineLevel, members, message) {
      if (!logger.isLevelEnabled(lineLevel)) return
      const level = logger.levels.values[lineLevel]
      writeLine(`{"level":${level},"time":"${currentTimestamp()}"${members},"msg":"${message}"}\n`)
    },
    close: () => lines.close(),
  }
}
