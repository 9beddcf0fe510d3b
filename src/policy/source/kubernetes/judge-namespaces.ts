import { runInSlices } from '../../../lib/async/run-in-slices.ts'
import type { PolicyVocabulary } from '../../language/policy-vocabulary.ts'
import type { ParsedFile } from '../parse-in-thread.ts'
import { createPolicyFileReader } from '../policy-file-reader.ts'
import { judgeResources } from './judge-resources.ts'
import { screenResources, type ScreenedResource } from './screen-resources.ts'
import type { Verdict } from './verdict.ts'
import type { NamespaceContent } from './watch-namespace.ts'

/** Judges all resources of all Kubernetes namespaces, off the event loop. A call must follow the end of the last. */
export type JudgeNamespaces = (contents: readonly NamespaceContent[]) => Promise<readonly Verdict[]>

/** Unchanged resources are not parsed again. */
export function createJudge(vocabulary: PolicyVocabulary): JudgeNamespaces {
  const reader = createPolicyFileReader(vocabulary)
  return async (contents) => {
    const namespaces = []
    for (const content of contents)
      namespaces.push({ namespace: content.namespace, screened: await screenContent(content) })
    const texts = namespaces.flatMap(({ screened }) =>
      screened.flatMap((one) => ('text' in one ? [one.text] : [])),
    )
    const parsed = new Map<string, ParsedFile>()
    for (const [index, file] of (await reader.readInBackground(texts)).entries())
      parsed.set(texts[index]?.name ?? '', file)
    return namespaces.flatMap((namespace) => judgeResources(namespace, parsed, vocabulary))
  }
}

async function screenContent({
  namespace,
  resources,
  isReplaced,
}: NamespaceContent): Promise<readonly ScreenedResource[]> {
  if (!isReplaced) return runInSlices(screenResources(namespace, resources))
  const message = `the Kubernetes namespace ${namespace.name} was created again: its uid is not that in the settings of the gateway`
  return resources.map((resource) => ({ resource, reason: 'NamespaceReplaced', message }))
}
