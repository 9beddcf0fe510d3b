import { isWithin } from '../../../catalog-api/identifiers.ts'
import { permissionNames } from '../../../catalog-api/permissions.ts'
import { sampleName } from '../../conditions/name-pattern.ts'
import type { LocatedRule } from '../../engine/compiled-rule.ts'
import { knownAsOnly, listSubjects, type Subject } from '../../engine/subject.ts'
import { listNamedPermissions } from '../../language/policy-vocabulary.ts'
import type { PolicyDocument } from '../../language/policy-document.ts'
import type { PolicySet } from '../../policy-set.ts'
import { readsPart } from '../../engine/object-position.ts'
import { parseFilter } from '../../restrictions/parse-filter.ts'
import { suggestSimilar } from '../../../lib/suggest-similar.ts'
import { createFinding, type Finding } from './finding.ts'

const readPermissions = permissionNames.filter(readsPart)

/**
 * Finds what has no effect, or another one than intended: restrictions of callers and exceptions for callers that no rule
 * allows anything, misspelt columns in `rows`, shadow policies, and allows that end at `inherit: false`.
 */
export function lintEffects(set: PolicySet): readonly Finding[] {
  return set.documents.flatMap((document) => [
    ...findDocumentEffects(document, set),
    ...document.rules.flatMap((rule) => {
      const own = { document, rule }
      const messages = [...describeNobody(own, set), ...describeColumns(own, set)]
      return messages.map((message) => createFinding(own, 'warning', 'effect', message))
    }),
  ])
}

/** Callers may have further groups, so a caller that is only named here stands for a mistaken name. */
function describeNobody(own: LocatedRule, set: PolicySet): readonly string[] {
  const { restriction, subjects, effect } = own.rule
  if (restriction !== undefined) {
    const names = listSubjects({ ...subjects, anonymous: false })
    const isAnybody = names.some(({ kind }) => kind === 'any')
    return isAnybody || names.some((subject) => isAllowed(own, subject, set))
      ? []
      : ['restricts callers that no rule allows to read these tables: their names may be misspelt']
  }
  if (effect === 'allow' || subjects.except === undefined || own.rule.condition !== undefined) return []
  if (!set.documents.some(({ rules }) => rules.some((rule) => rule.effect === 'allow'))) return []
  const excepted = listSubjects(subjects.except)
  return excepted.some((subject) => isAllowed(own, subject, set))
    ? []
    : ['excepts callers that no rule allows what it denies, so nobody may do it']
}

function isAllowed({ document, rule }: LocatedRule, subject: Subject, set: PolicySet): boolean {
  const { namespace } = document
  const permissions = rule.restriction === undefined ? listNamedPermissions(rule) : readPermissions
  const beneath = set.documents.filter((other) => isWithin(other.namespace, namespace))
  const positions =
    rule.tables?.map((table) => ({ namespace, table: sampleName(table) })) ??
    beneath.map((other) => ({ namespace: other.namespace, table: undefined }))
  const caller = knownAsOnly(subject)
  return permissions.some((permission) =>
    positions.some((position) => set.evaluate({ permission, position, caller }).kind !== 'denied'),
  )
}

/** Describes columns in `rows` whose name is probably a misspelt one: the catalog refuses each read of the table. */
function describeColumns({ document, rule }: LocatedRule, set: PolicySet): readonly string[] {
  const { restriction, tables = [] } = rule
  if (restriction?.rowsText === undefined || 'without' in restriction.columns) return []
  const { columns, rowsText } = restriction
  const read = new Set<string>()
  parseFilter(rowsText, {
    findColumn(path) {
      read.add(path.join('.'))
      return columns.get(path.join('.')) ?? 'unknown'
    },
    hasVariables: true,
  })
  const declared = tables.flatMap((table) => [
    ...set.findTags({ namespace: document.namespace, table }).columns.keys(),
  ])
  return [...read].flatMap((path) => {
    const suggestion = suggestSimilar(path, columns.keys())
    if (columns.has(path) || declared.includes(path) || suggestion === '') return []
    return [`has "rows" on the column "${path}", which is none of its columns${suggestion}`]
  })
}

function findDocumentEffects(document: PolicyDocument, set: PolicySet): readonly Finding[] {
  const { name, namespace, inherit, isShadow, file, line, column } = document
  const inform = (message: string): Finding => {
    return { level: 'info', check: 'effect', file, line, column, policy: name, message: `${name} ${message}` }
  }
  const above = inherit || namespace.length === 0 ? [] : set.documentsAbove(namespace.slice(0, -1))
  const ended = above.flatMap((other) =>
    other.rules.flatMap(({ effect, id }) => (effect === 'allow' ? [`${other.name}/${id}`] : [])),
  )
  return [
    ...(isShadow ? [inform('is evaluated, but not in force: mode: shadow')] : []),
    ...(ended.length > 0
      ? [inform(`ends what is allowed from above (inherit: false): ${ended.join(', ')}`)]
      : []),
  ]
}
