/** Mutants of one line that no test could detect; each line is listed once. */
export interface EquivalentMutants {
  readonly file: string
  /** The source line, trimmed. */
  readonly line: string
  /** In the format of the survivors. */
  readonly changes: readonly string[]
  readonly reason: string
}

export const equivalentMutants: readonly EquivalentMutants[] = [
  {
    file: 'src/gateway/json/json-scanner.ts',
    line: 'const noByte = 0',
    changes: ['0 -> 1'],
    reason:
      'No JSON contains either byte outside of a string, and no string is read behind the end of the text.',
  },
  {
    file: 'src/gateway/json/json-scanner.ts',
    line: 'this.#isEscaped = false',
    changes: ['this.#isEscaped = false -> ;'],
    reason: 'Later names would take the slower way, to the same text.',
  },
  {
    file: 'src/http1/codec/chunked-decoder.ts',
    line: '#remaining = 0',
    changes: ['0 -> 1'],
    reason: 'It is set before each chunk, and not read before the first one.',
  },
  {
    file: 'src/http1/server/request-head.ts',
    line: "if (text.includes('\\t') && framingWithTab.test(text))",
    changes: ["'\\t' -> ''"],
    reason: 'The pattern needs a tab itself; without one it is only not tried.',
  },
  {
    file: 'src/audit/records/hash-chain.ts',
    line: "const tail = bytes.toString('latin1', Math.max(end, 0))",
    changes: ['0 -> 1'],
    reason: 'A line for which that makes a difference is refused as too short.',
  },
  {
    file: 'src/audit/records/hash-chain.ts',
    line: `if (end <= 0 || !tail.startsWith(hashMember) || !tail.endsWith('"}'))`,
    changes: ['0 -> 1', `'"}' -> ''`],
    reason: 'One byte before the hash, or another end behind it, is no JSON; only the message is another.',
  },
  {
    file: 'src/catalog-api/route-table.ts',
    line: String.raw`routes.set(path.replaceAll(/\{\w+\}/g, placeholder).replace(/\/$/, ''), {`,
    changes: ['/\\{\\w+\\}/g -> /\\{\\w*\\}/g'],
    reason: 'The paths are those of the table of operations, in which braces are never empty.',
  },
  {
    file: 'src/catalog-api/route-table.ts',
    line: 'return extraOperations.length === 0',
    changes: ['extraOperations.length === 0 -> false'],
    reason: 'The table would be an equal one.',
  },
  {
    file: 'src/catalog-api/route-table.ts',
    line: "hasBlob: path.includes('{column}') && path.includes('{row_id}'),",
    changes: ["'{column}' -> ''"],
    reason: 'No path has a row without a column.',
  },
  {
    file: 'src/catalog-api/route-table.ts',
    line: 'return routes.get(withName) ?? (withRow === undefined ? undefined : routes.get(withRow))',
    changes: ['withRow === undefined -> false'],
    reason: 'There is no route for undefined; the condition is for the types.',
  },
  {
    file: 'src/catalog-api/route-table.ts',
    line: 'return start === -1 ? undefined : path.slice(0, start) + placeholder + path.slice(segmentEnd(path, start))',
    changes: ['1 -> 2', 'start === -1 -> false'],
    reason: 'A path with too few segments would become one that is no route either.',
  },
  {
    file: 'src/catalog-api/route-table.ts',
    line: "return start === -1 ? '' : path.slice(start, segmentEnd(path, start))",
    changes: ['start === -1 -> false', '-1 -> 1'],
    reason: 'Only segments that the route of the path has are read, and none of these begins at 1.',
  },
  {
    file: 'src/catalog-api/route-table.ts',
    line: 'return slash === -1 ? path.length : slash',
    changes: ['1 -> 2'],
    reason: 'No route ends in a placeholder; another end of such a path makes it none either.',
  },
  {
    file: 'src/catalog-api/route-table.ts',
    line: 'if (start === 0) return -1',
    changes: ['1 -> 2'],
    reason: 'A path with too few segments would become one that is no route either.',
  },
  {
    file: 'src/policy/engine/policy-tree.ts',
    line: 'if (document.final.size > 0) this.final = new Set([...this.final, ...document.final])',
    changes: ['document.final.size > 0 -> true'],
    reason: 'Without it, a policy that reserves nothing makes another set with the same permissions.',
  },
  {
    file: 'src/policy/engine/evaluate.ts',
    line: "if (condition === undefined || evaluate === undefined) return 'true'",
    changes: ["'true' -> undefined"],
    reason: 'Only the other results are looked for.',
  },
  {
    file: 'src/policy/visibility/visibility.ts',
    line: 'if (found === undefined) throw new Error(`no operation describes a ${kind}`)',
    changes: ['throw new Error(`no operation describes a ${kind}`) -> ;'],
    reason: 'It is asked for namespaces and tables, which operations describe; the error is for the types.',
  },
  {
    file: 'src/policy/visibility/visibility.ts',
    line: 'for (let at = firstIndexFrom(grants, node.index); at < grants.length; at++) {',
    changes: ['at < grants.length -> at <= grants.length'],
    reason: 'The loop also ends at a grant that does not exist.',
  },
  {
    file: 'src/policy/visibility/visibility.ts',
    line: "const slot = node.index * 4 + (kind === 'table' ? 2 : 0) + (node.depth === depth ? 1 : 0)",
    changes: ["kind === 'table' -> kind !== 'table'"],
    reason: 'Tables and namespaces still have different numbers.',
  },
  {
    file: 'src/policy/visibility/visibility.ts',
    line: 'const decision = (rule ?? evaluation.openAllow)?.decision',
    changes: ['(rule ?? evaluation.openAllow)?.decision -> (rule ?? evaluation.openAllow).decision'],
    reason: 'Without either, the result is denied; the operator is for the types.',
  },
  {
    file: 'src/audit/log/chain-writer.ts',
    line: "if (text !== '') await segment.append(Buffer.from(text))",
    changes: ["text !== '' -> true"],
    reason: 'An empty write changes nothing; it only syncs once more.',
  },
  {
    file: 'src/audit/log/chain-writer.ts',
    line: 'if (state.head.seq < 0 || !isDue) return undefined',
    changes: ['state.head.seq < 0 || !isDue -> state.head.seq < 0 && !isDue'],
    reason: 'The file is only checked more often than it must be.',
  },
  {
    file: 'src/audit/compare/find-unexplained.ts',
    line: 'if (time === undefined) return true',
    changes: ['time === undefined -> false'],
    reason: 'Only the first versions have no time, and no span has begun before them.',
  },
  {
    file: 'src/policy/restrictions/column-types.ts',
    line: "array_has: { of: 'list', hasLiteral: true, type: 'boolean' },",
    changes: ["'list' -> ''"],
    reason: 'Only texts are looked for; everything else is a list.',
  },
  {
    file: 'src/policy/restrictions/filter-tokens.ts',
    line: 'const character = String.fromCodePoint(filter.codePointAt(offset) ?? 0)',
    changes: ['0 -> 1'],
    reason: 'The offset is within the filter; the default is for the types.',
  },
  {
    file: 'src/gateway/restrictions/restrict-request.ts',
    line: "{ visitMember: ({ name, depth }) => (depth === 1 && changes.has(name) ? 'removal' : 'nothing') },",
    changes: ["'nothing' -> ''"],
    reason: 'Every other interest is none.',
  },
  {
    file: 'src/gateway/restrictions/restricted-response.ts',
    line: "return { fields: yield* trimFields(isObject(schema) ? schema['fields'] : undefined, '', visible) }",
    changes: ['isObject(schema) -> true'],
    reason: 'No text or number has fields; the condition is for the types.',
  },
]
