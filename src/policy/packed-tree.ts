import type { Identifier } from '../interface/identifiers.ts'
import { createChildTable } from './child-table.ts'
import { applies, type Asked, type CompiledRule, type TableQuestion } from './compiled-rule.ts'
import { meet, type PermissionBits } from './permission-bits.ts'
import { NumberList } from './number-list.ts'
import type { PolicyNode } from './policy-node.ts'

/** Where a namespace begins among the numbers of a packed tree. */
export type Place = number

/**
 * The tree of policies as a decision goes through it. With many policies a decision takes as long as it waits for
 * memory; so what tells most rules apart from those that decide, permissions and subjects, lies in one list of
 * numbers, namespace by namespace, and the rules themselves, which lie all over the memory, are only looked at where
 * these fit.
 */
export interface PackedTree {
  /** The namespace of the first `depth` parts of the id, or the nearest above it that a policy speaks of. */
  nearest(id: Identifier, depth: number): Place
  /**
   * Walks from the namespace of the object up to the root: the first rule found is of the deepest namespace. A deny
   * ends the walk; an allow is given up where a namespace above it reserves the permission.
   */
  decisiveRule(start: Place, asked: Asked): CompiledRule | undefined
  /** The first rule of the namespace itself, in order, that denies what is asked. */
  firstDeny(place: Place, asked: Asked, table: TableQuestion): CompiledRule | undefined
}

/*
 * How a namespace is written, number by number, its name before its place:
 *
 *     name       one number for each code unit
 *     place:     parent, depth, isBoundary, final (2), nameLength, allows
 *     denies:    of the rules that deny, the permissions of all (2) and the count; then rule by rule
 *     allows:    the same of those that allow
 *     a rule:    permissions (2), ruleAt, subjectCount, and so many subjects
 *
 * What takes two numbers are the bits of permissions; `parent` and `allows` are places in the list of numbers, `ruleAt`
 * one among the rules. What a decision needs of a namespace that concerns it not at all lies side by side.
 */
const field = { parent: 0, depth: 1, isBoundary: 2, final: 3, nameLength: 5, allows: 6, denies: 7 } as const
const count = 2
const headLength = 3
const [ruleAt, subjectCount] = [2, 3]
const ruleLength = 4

/** How many numbers most namespaces take, or fewer. */
const usualLength = 48

/** Of so many subjects, those of the caller are looked up instead of going through all. */
const many = 48
/** Stands for the count where the rules lie by their subjects. */
const isBySubject = -1

/** Packs the nodes of a tree, the root, which has no name, first and each behind the one above it, and tells them their places. */
export function packTree(nodes: readonly PolicyNode[]): PackedTree {
  const written = new NumberList(usualLength * nodes.length)
  const rules: CompiledRule[] = []
  const bySubject = new Map<Place, ReadonlyMap<number, readonly CompiledRule[]>>()
  const children = createChildTable(nodes.length, isChild)

  for (const node of nodes) writeNode(node)
  const words = written.toArray()
  return {
    nearest,
    decisiveRule,
    firstDeny: (place, asked, table) => first(place + field.denies, asked, table),
  }

  function writeNode(node: PolicyNode): void {
    const { name, parent, depth, isBoundary, final } = node
    for (let index = 0; index < name.length; index++) written.push(name.charCodeAt(index))
    node.place = written.length
    if (parent !== undefined) children.add(parent.place, name, node.place)
    const above = parent?.place ?? isNowhere
    written.push(above)
    written.push(depth)
    written.push(Number(isBoundary))
    written.push(final.low)
    written.push(final.high)
    written.push(name.length)
    written.push(0)
    writeRules(node.rules, 'deny')
    written.set(node.place + field.allows, written.length)
    writeRules(node.rules, 'allow')
  }

  function writeRules(all: readonly CompiledRule[], effect: CompiledRule['effect']): void {
    const place = written.length
    written.push(0)
    written.push(0)
    written.push(0)
    const firstRule = written.length
    let low = 0
    let high = 0
    let rulesHere = 0
    for (const rule of all) {
      if (rule.effect !== effect) continue
      low |= rule.low
      high |= rule.high
      rulesHere++
      writeRule(rule)
    }
    const isMany = written.length - firstRule - ruleLength * rulesHere > many
    if (isMany) {
      written.cutOff(firstRule)
      bySubject.set(place, groupedBySubject(all.filter((rule) => rule.effect === effect)))
    }
    written.set(place, low)
    written.set(place + 1, high)
    written.set(place + count, isMany ? isBySubject : rulesHere)
  }

  function writeRule(rule: CompiledRule): void {
    written.push(rule.low)
    written.push(rule.high)
    written.push(rules.length)
    const countAt = written.length
    written.push(0)
    rule.writeSubjects(written)
    written.set(countAt, written.length - countAt - 1)
    rules.push(rule)
  }

  function at(index: number): number {
    return words[index] ?? 0
  }

  function meetAt(index: number, { low, high }: PermissionBits): boolean {
    return (at(index) & low) !== 0 || (at(index + 1) & high) !== 0
  }

  function nearest(id: Identifier, depth: number): Place {
    let place = rootPlace
    for (let index = 0; index < depth; index++) {
      const child = children.find(place, id[index] ?? '')
      if (child === undefined) return place
      place = child
    }
    return place
  }

  function isChild(place: Place, parent: Place, name: string): boolean {
    const { length } = name
    if (at(place + field.parent) !== parent || at(place + field.nameLength) !== length) return false
    for (let index = 0; index < length; index++) {
      if (at(place - length + index) !== name.charCodeAt(index)) return false
    }
    return true
  }

  function decisiveRule(start: Place, asked: Asked): CompiledRule | undefined {
    let allow: CompiledRule | undefined
    let isStopped = false
    for (let place = start; place !== isNowhere; place = at(place + field.parent)) {
      const here = at(place + field.depth) === asked.depth ? asked.table : undefined
      const deny = first(place + field.denies, asked, here)
      if (deny !== undefined) return deny
      if (meetAt(place + field.final, asked.bit)) allow = undefined
      if (allow === undefined && !isStopped) allow = first(at(place + field.allows), asked, here)
      isStopped ||= at(place + field.isBoundary) === 1
    }
    return allow
  }

  /** The first, in order, of the rules there that concerns the principal and applies. */
  function first(place: Place, asked: Asked, table: TableQuestion): CompiledRule | undefined {
    if (!meetAt(place, asked.bit)) return undefined
    let left = at(place + count)
    if (left === isBySubject) return firstBySubject(bySubject.get(place), asked, table)
    for (let index = place + headLength; left > 0; left--) {
      const end = index + ruleLength + at(index + subjectCount)
      if (meetAt(index, asked.bit) && concerns(index + ruleLength, end, asked)) {
        const rule = rules[at(index + ruleAt)]
        if (rule !== undefined && applies(rule, asked, table)) return rule
      }
      index = end
    }
    return undefined
  }

  function concerns(begin: number, end: number, { caller }: Asked): boolean {
    for (let index = begin; index < end; index++) if (caller.numbers.has(at(index))) return true
    return false
  }
}

const rootPlace: Place = 0
const isNowhere: Place = -1

function groupedBySubject(rules: readonly CompiledRule[]): ReadonlyMap<number, readonly CompiledRule[]> {
  const lists = new Map<number, CompiledRule[]>()
  for (const rule of rules) {
    for (const subject of rule.subjects) {
      const list = lists.get(subject)
      if (list === undefined) lists.set(subject, [rule])
      else list.push(rule)
    }
  }
  return lists
}

/** A token may carry hundreds of groups, and a namespace may name hundreds: the fewer are looked up in the more. */
function firstBySubject(
  lists: ReadonlyMap<number, readonly CompiledRule[]> = new Map(),
  asked: Asked,
  table: TableQuestion,
): CompiledRule | undefined {
  const { numbers } = asked.caller
  let first: CompiledRule | undefined
  if (numbers.size < lists.size) {
    for (const number of numbers) first = earliest(lists.get(number), asked, table, first)
  } else {
    for (const [number, rules] of lists) {
      if (numbers.has(number)) first = earliest(rules, asked, table, first)
    }
  }
  return first
}

function earliest(
  rules: readonly CompiledRule[] | undefined,
  asked: Asked,
  table: TableQuestion,
  first: CompiledRule | undefined,
): CompiledRule | undefined {
  if (rules === undefined) return first
  for (const rule of rules) {
    if (first !== undefined && first.order < rule.order) return first
    if (meet(rule, asked.bit) && applies(rule, asked, table)) return rule
  }
  return first
}
