import { pino, type Logger } from 'pino'
import { formatIdentifierText } from '../../catalog-api/index.ts'
import type { LogSettings } from '../../config/index.ts'
import { currentTimestamp } from '../../lib/index.ts'
import { openLineWriter } from './line-writer.ts'

export type { Logger }

export type GatewayLog = ReturnType<typeof openLog>

/**
 * Writes lines to standard error within a second, or on exit: JSON, or on a terminal lines for a person. If the reader is
 * blocked, lines are dropped rather than awaited.
 */
export function openLog({ level }: LogSettings, onLost: (lines: number) => void) {
  const options = { level, base: null, timestamp: () => `,"time":"${currentTimestamp()}"` }
  const lines = openLineWriter(process.stderr.fd, { onLost })
  const writeLine = process.stderr.isTTY
    ? (line: string) => lines.write(formatTextLine(line))
    : (line: string) => lines.write(line)
  const logger = pino(options, { write: writeLine })
  return {
    logger,
    /** Faster than the logger. `members` are JSON, each preceded by a comma. `message` must not need escaping. */
    write(lineLevel: 'info' | 'warn' | 'error', members: string, message: string): void {
      if (!logger.isLevelEnabled(lineLevel)) return
      const level = logger.levels.values[lineLevel]
      writeLine(`{"level":${level},"time":"${currentTimestamp()}"${members},"msg":"${message}"}\n`)
    },
    /** Resolves when every line is written. Later lines are written when the process exits normally. */
    close: (): Promise<void> => lines.close(),
  }
}

/**
 * Returns a log function that writes at most `perSecond` lines a second of each kind, which come from a closed set. A line
 * has the number of those of its kind that were suppressed before it.
 */
export function createThrottledLog(log: Logger, perSecond: number) {
  const kinds = new Map<string, { second: number; passed: number; suppressed: number }>()
  return (level: 'info' | 'warn' | 'error', kind: string, members: object, message: string): void => {
    const second = Math.floor(performance.now() / 1000)
    const state = kinds.get(kind) ?? { second, passed: 0, suppressed: 0 }
    kinds.set(kind, state)
    if (state.second !== second) Object.assign(state, { second, passed: 0 })
    if (state.passed >= perSecond) {
      state.suppressed += 1
      return
    }
    const { suppressed } = state
    state.passed += 1
    state.suppressed = 0
    log[level](suppressed > 0 ? { ...members, suppressed } : members, message)
  }
}

/** The members of a line that every line, or every line of a request, may have. */
interface LogMembers {
  readonly level: number
  readonly time: string
  readonly msg: string
  readonly status?: number
  readonly operation?: string
  readonly id?: readonly string[]
  readonly principal?: string
  readonly durationMs?: number
  readonly error?: string
}

/**
 * Formats a JSON line of the log for a person at a terminal, with the local time of day. Of a request, it shows status,
 * operation, object, caller, duration and error; of an event, all members. No name can move the cursor: control characters
 * become spaces.
 */
export function formatTextLine(line: string): string {
  const members: LogMembers = JSON.parse(line)
  const time = new Date(members.time).toTimeString().slice(0, 8)
  const text = members.status === undefined ? formatEvent(members) : formatRequest(members)
  return `${time} ${text.replaceAll(/\p{C}+/gu, ' ')}\n`
}

function formatRequest({ status, operation, id, principal, durationMs = 0, error }: LogMembers): string {
  const object = id === undefined ? '' : ` ${formatIdentifierText(id)}`
  const caller = principal === undefined ? '' : ` by ${principal}`
  return `${status} ${operation}${object}${caller} in ${durationMs.toFixed(1)} ms${error === undefined ? '' : `: ${error}`}`
}

const commonMembers: readonly string[] = ['level', 'time', 'msg'] satisfies (keyof LogMembers)[]

function formatEvent(members: LogMembers): string {
  const facts = Object.entries(members)
    .filter(([name]) => !commonMembers.includes(name))
    .map(([name, value]) => `${name}=${JSON.stringify(value)}`)
  return [pino.levels.labels[members.level], members.msg, ...facts].join(' ')
}
