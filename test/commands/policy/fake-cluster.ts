import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { KubernetesObject } from '../../../src/lib/kubernetes/kubernetes-object.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

/** Returns the options of commands for a kubectl that finds these resources. */
export async function fakeCluster(...items: readonly KubernetesObject[]): Promise<readonly string[]> {
  const program = join(await temporaryFolder(), 'kubectl')
  const list = JSON.stringify({ kind: 'List', items })
  await writeFile(program, `#!/bin/sh\ncat << 'END'\n${list}\nEND\n`, { mode: 0o755 })
  return ['--kubernetes', '--kubectl', program]
}
