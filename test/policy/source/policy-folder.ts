import { mkdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { temporaryFolder } from '../../support/temporary-folder.ts'

export async function writeFiles(
  folder: string,
  files: Readonly<Record<string, string | Uint8Array>>,
): Promise<void> {
  for (const [name, content] of Object.entries(files)) {
    await mkdir(dirname(join(folder, name)), { recursive: true })
    await writeFile(join(folder, name), content)
  }
}

/** Creates a folder with these files, which is removed when the test ends. */
export async function folderWith(files: Readonly<Record<string, string | Uint8Array>>): Promise<string> {
  const folder = await temporaryFolder()
  await writeFiles(folder, files)
  return folder
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
