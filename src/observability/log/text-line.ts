import { pino } from 'pino'
import { formatIdentifierText } from '../../catalog-api/identifier-text.ts'

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
