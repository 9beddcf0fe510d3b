import { onTestFinished } from 'vitest'
import type { FollowedFiles } from '../../../src/lib/fs/follow-files.ts'
import {
  combineSources,
  watchFolders,
  type OpenDocumentSource,
  type PolicySourceOptions,
} from '../../../src/policy/source/policy-source.ts'
import { createAuthorizationRequest, createCaller } from '../policy-builder.ts'

/** Watches folders of policies. `poll` reads all of them once. */
export async function watch(paths: readonly string[], options: PolicySourceOptions = {}) {
  const reloads: (readonly [folder: string | undefined, hasError: boolean])[] = []
  const errors: string[] = []
  const pollings: FollowedFiles<void>[] = []
  const folders = [...watchFolders(paths)].map(([path, open]) => {
    const openOnce: OpenDocumentSource = async (observer) => {
      const polling = await open(observer)
      pollings.push(polling)
      return polling
    }
    return [path, openOnce] as const
  })
  const source = await combineSources(new Map(folders), {
    ...options,
    onChange({ error, folder, hasError }) {
      if (error === undefined) reloads.push([folder, hasError])
      else errors.push(error.message)
    },
  })
  onTestFinished(() => source.close())
  const mayRead = (user: string): boolean =>
    source.current().decide(createAuthorizationRequest(createCaller(user), 'ListTables', 'namespace', ['a']))
      .allowed
  const poll = async (): Promise<void> => {
    for (const polling of pollings) await polling.pollNow()
  }
  return { source, reloads, errors, mayRead, poll }
}
