import type { PolicyVocabulary } from '../../language/policy-vocabulary.ts'
import type { DecisionTest } from '../../testing/decision-test.ts'
import { parsePolicyFile } from '../parse-policy-file.ts'
import { createJudge } from './judge-namespaces.ts'
import { formatResource, nameOfResource } from './resource-text.ts'
import type { Verdict } from './verdict.ts'
import type { NamespaceContent } from './watch-namespace.ts'

export interface LoadedResources {
  readonly verdicts: readonly Verdict[]
  /** Those of accepted policies. */
  readonly tests: readonly DecisionTest[]
}

/** Reads the resources of Kubernetes namespaces once, as a gateway does that watches them. */
export async function loadResources(
  contents: readonly NamespaceContent[],
  vocabulary: PolicyVocabulary,
): Promise<LoadedResources> {
  const verdicts = await createJudge(vocabulary)(contents)
  const accepted = verdicts.filter(({ reason }) => reason === 'Accepted')
  const tests = accepted.flatMap(({ resource }) => {
    const document = nameOfResource(resource)
    return parsePolicyFile(formatResource(resource), vocabulary).tests.map((test) => ({ ...test, document }))
  })
  return { verdicts, tests }
}
