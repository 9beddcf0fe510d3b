import { writeFile } from 'node:fs/promises'
import { delimiter, join } from 'node:path'
import { onTestFinished, vi } from 'vitest'
import type { KubernetesObject } from '../../../src/kubernetes/kubernetes-client.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

/** Puts a kubectl that runs this shell script first in the PATH, for one test. */
export async function fakeKubectl(script: string): Promise<void> {
  const folder = await temporaryFolder()
  await writeFile(join(folder, 'kubectl'), `#!/bin/sh\n${script}\n`, { mode: 0o755 })
  vi.stubEnv('PATH', `${folder}${delimiter}${process.env['PATH']}`)
  onTestFinished(() => void vi.unstubAllEnvs())
}

/** Makes kubectl find these resources, for one test. Returns the options of commands that read them. */
export async function fakeCluster(...items: readonly KubernetesObject[]): Promise<readonly string[]> {
  await fakeKubectl(`cat << 'END'\n${JSON.stringify({ kind: 'List', items })}\nEND`)
  return ['--kubernetes']
}
