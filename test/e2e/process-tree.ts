import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

const run = promisify(execFile)

export async function childrenOf(pid: number): Promise<number[]> {
  const processes = await listProcesses()
  return processes.filter(({ parent }) => parent === pid).map(({ pid }) => pid)
}

/** Whether a process runs; a zombie does not. */
export async function isRunning(pid: number): Promise<boolean> {
  return (await listProcesses()).some((process) => process.pid === pid)
}

async function listProcesses(): Promise<{ pid: number; parent: number }[]> {
  const { stdout } = await run('ps', ['-A', '-o', 'pid=,ppid=,stat='])
  return stdout
    .trim()
    .split('\n')
    .map((line) => line.trim().split(/\s+/))
    .filter(([, , state]) => state?.startsWith('Z') !== true)
    .map(([pid, parent]) => ({ pid: Number(pid), parent: Number(parent) }))
}

/** The command lines that contain the text, of running processes. */
export async function commandsWith(text: string): Promise<string[]> {
  const { stdout } = await run('ps', ['-A', '-ww', '-o', 'args='], { maxBuffer: 16 * 1024 * 1024 })
  return stdout.split('\n').filter((line) => line.includes(text))
}
