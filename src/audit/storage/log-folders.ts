import { readdir } from 'node:fs/promises'
import { join } from 'node:path'

const workerFolderPattern = /^worker-([2-9]|[1-9]\d+)$/

/** Each log has one writer: worker 1, and a gateway without workers, use `folder`; all others use subfolders. */
export function workerLogFolder(folder: string, worker: number): string {
  return worker === 1 ? folder : join(folder, `worker-${worker}`)
}

/** Lists the log folders of further workers in a folder, by worker number. */
export async function listWorkerLogFolders(folder: string): Promise<ReadonlyMap<number, string>> {
  const numbers = (await readdir(folder))
    .flatMap((name) => workerFolderPattern.exec(name)?.[1] ?? [])
    .map(Number)
  return new Map(numbers.toSorted((a, b) => a - b).map((number) => [number, workerLogFolder(folder, number)]))
}

/** Lists the folders of all logs of a gateway, that of the first worker first. Rejects if the folder cannot be read. */
export async function listLogFolders(folder: string): Promise<readonly string[]> {
  return [folder, ...(await listWorkerLogFolders(folder)).values()]
}
