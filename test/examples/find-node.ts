import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

/** Returns the executable of the newest Node of that major version, which npm carries; undefined if it cannot be had. */
export async function findNode(major: number): Promise<string | undefined> {
  if (process.versions.node.startsWith(`${major}.`)) return process.execPath
  const fromPackage = `--package=node@${major}`
  const describe = 'process.version + " " + process.execPath'
  const words = ['--yes', '--prefer-offline', fromPackage, 'node', '--print', describe]
  try {
    const { stdout } = await promisify(execFile)('npx', words, { timeout: 120_000 })
    return new RegExp(`^v${major}\\.\\S+ (.+)$`, 'm').exec(stdout)?.[1]
  } catch {
    return undefined
  }
}
