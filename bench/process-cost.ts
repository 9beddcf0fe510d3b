import { readdirSync, readFileSync } from 'node:fs'

/** CPU time of a process, its threads and its children, in microseconds. */
export function processorMicroseconds(pid: number): number {
  return familyOf(pid).reduce((sum, member) => sum + ownMicroseconds(member), 0)
}

/** Resident memory of a process and its children, in bytes. */
export function residentMemory(pid: number): number {
  return familyOf(pid).reduce((sum, member) => sum + statusBytes(member, 'VmRSS'), 0)
}

/** Returns the ids of a process and its children. */
export function familyOf(pid: number): readonly number[] {
  const children = threadsOf(pid).flatMap((thread) =>
    read(`/proc/${pid}/task/${thread}/children`).split(' ').filter(Boolean).map(Number),
  )
  return [pid, ...children.flatMap(familyOf)]
}

function ownMicroseconds(pid: number): number {
  const nanoseconds = threadsOf(pid).reduce(
    (sum, thread) => sum + Number(read(`/proc/${pid}/task/${thread}/schedstat`).split(' ')[0]),
    0,
  )
  return nanoseconds / 1000
}

function threadsOf(pid: number): readonly string[] {
  return readdirSync(`/proc/${pid}/task`)
}

function statusBytes(pid: number, field: string): number {
  const kibibytes = new RegExp(`^${field}:\\s*(\\d+) kB$`, 'm').exec(read(`/proc/${pid}/status`))?.[1]
  return Number(kibibytes ?? 0) * 1024
}

function read(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    // A thread or a child that has ended in the meantime.
    return ''
  }
}
