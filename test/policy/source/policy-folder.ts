import { mkdir, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { onTestFinished } from 'vitest'

/** Creates an empty folder that is removed after the test. */
export async function temporaryFolder(): Promise<string> {
  const folder = await realpath(await mkdtemp(join(tmpdir(), 'policies-')))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  return folder
}

export async function writeFiles(
  folder: string,
  files: Readonly<Record<string, string | Uint8Array>>,
): Promise<void> {
  for (const [name, content] of Object.entries(files)) {
    await mkdir(dirname(join(folder, name)), { recursive: true })
    await writeFile(join(folder, name), content)
  }
}

/** Text of a policy that allows a user to read a namespace. */
export function readerPolicy(name: string, user: string, namespace = 'a'): string {
  return `apiVersion: catalog-gateway/v1
kind: AccessPolicy
metadata: { name: ${name} }
namespace: [${namespace}]
rules:
  - { id: reads, effect: allow, subjects: { users: [${user}] }, operations: [read] }
`
}
