import type { Permission } from '../interface/permissions.ts'
import { isFault, type Condition } from './condition.ts'
import { refused, scalarAt } from './plain-scalar.ts'
import type { PolicyDocument, PolicyRule, Subjects } from './policy-document.ts'
import { conditionNamed, isPermissionName, maximumLabelLength, permissionsNamed } from './rule-fields.ts'

/** Answers the policy that stands there, or undefined where it must be read otherwise. */
type ReadUsualPolicy = (from: number, to: number) => PolicyDocument | undefined

/**
 * A reader of policies that are laid out as most are, above all those that come from templates: fields in the order of
 * policies/README.md, two spaces deeper for what is in something, no comments, no quotes but in conditions. One pattern
 * for each rule takes the place of all that is done for YAML and for messages, which takes several times as long. It
 * answers the same policies as the other readers (a property test), and undefined for whatever is a fault, or is
 * written otherwise. `from` and `to` are where a document begins and ends.
 */
export function usualPolicyReader(text: string, file: string): ReadUsualPolicy {
  const sameText = new Map<string, string>()
  // A line, from 1, and where it begins.
  let line = 1
  let start = 0
  // What was found last; a list that is cut from it takes no more memory than it must.
  const foundNames: string[] = []
  const foundRules: PolicyRule[] = []
  const permissionsOf = remembered((names: string) => permissionsIn(namesIn(names)))
  const conditionOf = remembered(conditionIn)

  return (from, to) => {
    if (to - from > maximumLength) return undefined
    head.lastIndex = from
    const found = head.exec(text)
    if (found === null) return undefined
    const name = found[inHead.name] ?? ''
    const lineOfName = lineOf(from + headBeforeName.length)
    const rules = rulesBetween(head.lastIndex, to)
    if (rules === undefined || name.length > maximumLabelLength) return undefined
    return {
      name,
      isShadow: false,
      namespace: namesIn(listIn(found, inHead.namespace)),
      inherit: found[inHead.inherit] !== 'false',
      final: noPermissions,
      onDeny: undefined,
      rules,
      file,
      line: lineOfName,
      column: columnOfName,
    }
  }

  function rulesBetween(from: number, to: number): readonly PolicyRule[] | undefined {
    let count = 0
    let indent: string | undefined
    for (let at = from; at < to; at = ruleLayout.lastIndex) {
      ruleLayout.lastIndex = at
      const found = ruleLayout.exec(text)
      if (found === null) return undefined
      indent ??= found[inRule.indent]
      const rule = ruleOf(found)
      // What is indented more goes on with the rule before.
      if (rule === undefined || indent !== found[inRule.indent]) return undefined
      foundRules[count++] = rule
    }
    const rules = foundRules.slice(0, count)
    return count === 0 || haveRepeatedIds(rules) ? undefined : rules
  }

  function ruleOf(found: RegExpExecArray): PolicyRule | undefined {
    const id = found[inRule.id] ?? ''
    const when = found[inRule.when]
    const subjects = subjectsOf(found)
    const permissions = permissionsOf(listIn(found, inRule.operations))
    const condition = when === undefined ? undefined : conditionOf(when)
    const isUnread = permissions === undefined || (when !== undefined && condition === undefined)
    if (isUnread || subjects === undefined || id.length > maximumLabelLength) return undefined
    const effect = found[inRule.effect] === 'allow' ? 'allow' : 'deny'
    const place = lineOf(found.index)
    return { id: same(id), effect, subjects, permissions, tables: undefined, condition, line: place }
  }

  function subjectsOf(found: RegExpExecArray): Subjects | undefined {
    const kind = found[inRule.kind]
    const named = namesIn(found[inRule.named] ?? '')
    const users = kind === 'users' ? named : namesIn(listIn(found, inRule.users))
    const groups = kind === 'groups' ? named : namesIn(listIn(found, inRule.groups))
    const keys = kind === 'keys' ? named : namesIn(listIn(found, inRule.keys))
    if (users.length + groups.length + keys.length === 0) return undefined
    return { users, groups, keys, any: false, anonymous: false, except: undefined }
  }

  /** The names of a list, between commas or each on a line. */
  function namesIn(list: string): readonly string[] {
    if (list === '') return none
    const separator = list.startsWith('\n') ? list.slice(0, list.indexOf('-') + 2) : ', '
    let count = 0
    for (let at = separator === ', ' ? 0 : separator.length; ;) {
      const end = list.indexOf(separator, at)
      if (end < 0) {
        foundNames[count++] = same(list.slice(at))
        return foundNames.slice(0, count)
      }
      foundNames[count++] = same(list.slice(at, end))
      at = end + separator.length
    }
  }

  /** Counts on from the place that was asked for before, which is never behind this one. */
  function lineOf(offset: number): number {
    for (let end = text.indexOf('\n', start); end >= 0 && end < offset; end = text.indexOf('\n', start)) {
      line++
      start = end + 1
    }
    return line
  }

  /** One string for the same texts: one that was looked up once is found again without a look at its characters. */
  function same(text: string): string {
    const known = sameText.get(text)
    if (known === undefined) sameText.set(text, text)
    return known ?? text
  }
}

function haveRepeatedIds(rules: readonly PolicyRule[]): boolean {
  return rules.length > 1 && new Set(rules.map(({ id }) => id)).size < rules.length
}

/** The list in the one style or the other whose groups begin there; empty where there is none. */
function listIn(found: RegExpExecArray, group: number): string {
  return found[group] ?? found[group + 1] ?? ''
}

/** The condition that the rest of a line says. */
function conditionIn(line: string): Condition | undefined {
  try {
    const { end, value } = scalarAt(line, 0, 'words')
    const condition = end === line.length && typeof value === 'string' ? conditionNamed(value) : undefined
    return condition === undefined || isFault(condition) ? undefined : condition
  } catch (error) {
    if (error === refused) return undefined
    throw error
  }
}

function permissionsIn(names: readonly string[]): ReadonlySet<Permission> | undefined {
  return names.every(isPermissionName) ? permissionsNamed(names) : undefined
}

/** Makes the same of the same text but once. */
function remembered<Value>(make: (text: string) => Value): (text: string) => Value {
  const made = new Map<string, { readonly value: Value }>()
  return (text) => {
    let known = made.get(text)
    if (known === undefined) made.set(text, (known = { value: make(text) }))
    return known.value
  }
}

/** A pattern remembers every place that it may have to come back to. */
const maximumLength = 256 * 1024

const none: readonly string[] = []
const noPermissions: ReadonlySet<Permission> = new Set()

// Words that mean the same wherever they stand in YAML; the others of the core schema begin with no letter.
const noText = String.raw`(?!(?:null|Null|NULL|true|True|TRUE|false|False|FALSE)[\n,\]])`
const label = String.raw`${noText}[A-Za-z][\w.-]*`
const word = String.raw`${noText}[A-Za-z](?:[\w./-]|:(?=[\w./-]))*`

/** A list between brackets, as a group of its own. */
function flowList(item: string): string {
  return String.raw`\[(${item}(?:, ${item})*)\]`
}

/** A list in either style: two groups of its own, then one for the margin, which has that number. */
function listOf(item: string, margin: string, number: number): string {
  return `(?: ${flowList(item)}|((?:\\n(${margin} *)- ${item})(?:\\n\\${number}- ${item})*))`
}

const headBeforeName = 'apiVersion: catalog-gateway/v1\nkind: AccessPolicy\nmetadata:\n  name: '

const columnOfName = headBeforeName.length - headBeforeName.lastIndexOf('\n')

const head = new RegExp(
  `${headBeforeName}(${label})\\nnamespace:(?: \\[\\]|${listOf(label, '', 4)})\\n(?:inherit: (true|false)\\n)?rules:\\n`,
  'y',
)
const inHead = { name: 1, namespace: 2, inherit: 5 } as const

const ruleLayout = new RegExp(
  String.raw`( *)- id: (${label})\n\1  effect: (allow|deny)\n\1  subjects:` +
    String.raw`(?: \{ (users|groups|keys): ${flowList(word)} \}|` +
    [
      String.raw`(?:\n\1    users:${listOf(word, String.raw`\1    `, 8)})?`,
      String.raw`(?:\n\1    groups:${listOf(word, String.raw`\1    `, 11)})?`,
      String.raw`(?:\n\1    keys:${listOf(word, String.raw`\1    `, 14)})?)`,
    ].join('') +
    String.raw`\n\1  operations:${listOf(word, String.raw`\1  `, 17)}(?:\n\1  when: (.+))?\n`,
  'y',
)
const inRule = {
  indent: 1,
  id: 2,
  effect: 3,
  kind: 4,
  named: 5,
  users: 6,
  groups: 9,
  keys: 12,
  operations: 15,
  when: 18,
} as const
