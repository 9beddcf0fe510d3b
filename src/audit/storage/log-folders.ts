import { readdir } from 'node:fs/promises'
import { join } from 'node:path'

const workerFolderPattern = /^worker-([2-9]|[1-9]\d+)$/

/**
 * Where the log of a worker lies, of which the first has number 1: a log has one writer, so all but the first have a
 * folder beneath that of the first, which is also that of a gateway without workers.
 */
export function workerLogFolder(folder: string, worker: number): string {
  return worker === 1 ? folder : join(folder, `worker-${worker}`)
}

/** The folders of the logs that workers beyond the first have begun in that folder, by their numbers. */
export async function listWorkerLogFolders(folder: string): Promise<ReadonlyMap<number, string>> {
  const numbers = (await readdir(folder))
    .flatMap((name) => workerFolderPattern.exec(name)?.[1] ?? [])
    .map(Number)
  return new Map(numbers.toSorted((a, b) => a - b).map((number) => [number, workerLogFolder(folder, number)]))
}

/** The folders of all logs of a gateway, that of the first worker first. Rejects when the folder cannot be read. */
export async function listLogFolders(folder: string): Promise<readonly string[]> {
  return [folder, ...(await listWorkerLogFolders(folder)).values()]
}
