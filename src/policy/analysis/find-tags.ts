import type { Identifier } from '../../catalog-api/identifiers.ts'
import type { Permission } from '../../catalog-api/permissions.ts'
import type { Condition } from '../conditions/condition.ts'
import { createPartialInput } from '../conditions/partial-input.ts'
import type { PolicyDocument } from '../language/policy-document.ts'
import { listTags, type DeclaredTags, type TagVocabulary } from '../tags/declared-tags.ts'
import { formatTags, tagNamespace, tagTable, type ObjectTags, type TaggedTable } from '../tags/object-tags.ts'
import {
  namespaceKey,
  rulesReaching,
  type DocumentIndex,
  type ObjectPosition,
  type ReachingRule,
} from './reaching-rules.ts'

/** Returns the tags of an object, and the declared columns of a table. */
export function findTags(index: DocumentIndex, { namespace, table }: ObjectPosition): TaggedTable {
  let tags: ObjectTags = { names: [], vocabulary: getVocabulary(index) }
  for (let depth = 0; depth <= namespace.length; depth++)
    tags = tagNamespace(tags, listDeclarations(index, namespace.slice(0, depth)))
  return table === undefined
    ? { ...tags, columns: new Map() }
    : tagTable(tags, listDeclarations(index, namespace), table)
}

/** Returns the names of the declared tables of a namespace. */
export function listTaggedTables(index: DocumentIndex, namespace: Identifier): readonly string[] {
  return [...new Set(listDeclarations(index, namespace).flatMap(({ tables }) => [...tables.keys()]))]
}

/** Returns the rules that may decide, without conditions that the tags of the object decide. */
export function rulesInEffect(
  index: DocumentIndex,
  position: ObjectPosition,
  permission: Permission,
): readonly ReachingRule[] {
  const rules = rulesReaching(index, position, permission).filter(({ obstacle }) => obstacle === undefined)
  if (rules.every(({ rule }) => readsNoTags(rule.condition))) return rules
  const tags = findTags(index, position)
  return rules.flatMap((reaching) => {
    const { condition } = reaching.rule
    if (readsNoTags(condition)) return [reaching]
    const result = decideByTags(condition, tags)
    if (result === false) return []
    const rest =
      result === true ? undefined : { ...condition, text: `${condition.text} // tags: ${formatTags(tags)}` }
    return [{ ...reaching, rule: { ...reaching.rule, condition: rest } }]
  })
}

function readsNoTags(condition: Condition | undefined): condition is undefined {
  return condition === undefined || condition.tags.length === 0
}

/** Returns the result of the condition if it is the same for all requests on objects with these tags. */
function decideByTags(condition: Condition, tags: ObjectTags): boolean | undefined {
  try {
    return condition.evaluate(createPartialInput({ tags }))
  } catch {
    return undefined
  }
}

function listDeclarations(index: DocumentIndex, namespace: Identifier): readonly DeclaredTags[] {
  return (index.get(namespaceKey(namespace)) ?? []).flatMap(({ tags }) => tags ?? [])
}

const vocabularies = new WeakMap<DocumentIndex, TagVocabulary>()

/** Returns all tags that the documents declare. */
export function getVocabulary(index: DocumentIndex): TagVocabulary {
  let vocabulary = vocabularies.get(index)
  if (vocabulary === undefined) {
    const documents: readonly PolicyDocument[] = [...index.values()].flat()
    vocabularies.set(index, (vocabulary = listTags(documents.map(({ tags }) => tags))))
  }
  return vocabulary
}
