import { listGroupParts, permissionGroups } from '../../../src/catalog-api/permissions.ts'
import type { GeneratedTable } from './generated-table.ts'

const whole: Readonly<Record<string, string>> = {
  change: 'everything in the other groups, but `references`, that changes something',
  all: 'everything in the other groups, but `references`',
}

/** The groups of operations and what they hold, or the groups beneath. */
export const groupsReference: GeneratedTable = {
  name: 'groups',
  rows: [
    ['group', 'holds'],
    ...[...permissionGroups].map(([group, members]) => {
      const parts = listGroupParts(group).filter((part) => part !== group)
      const inParts = new Set(parts.flatMap((part) => permissionGroups.get(part) ?? []))
      const own = members.filter((member) => !inParts.has(member))
      return [`\`${group}\``, whole[group] ?? [...parts, ...own].map((name) => `\`${name}\``).join(', ')]
    }),
  ],
}
