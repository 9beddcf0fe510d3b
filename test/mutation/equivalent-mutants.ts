/** Mutants of one line that change nothing a test could notice. */
export interface EquivalentMutants {
  readonly file: string
  /** The source line, trimmed. */
  readonly line: string
  /** As the survivors are printed. */
  readonly changes: readonly string[]
  readonly reason: string
}

export const equivalentMutants: readonly EquivalentMutants[] = [
  {
    file: 'src/gateway/http/chunked-body.ts',
    line: '#left = 0',
    changes: ['0 -> 1'],
    reason: 'It is set before each chunk, and not read before the first one.',
  },
  {
    file: 'src/gateway/edge/request-head.ts',
    line: "if (text.includes('\\t') && framingWithTab.test(text))",
    changes: ["'\\t' -> ''"],
    reason: 'The pattern needs a tab itself; without one it is only not tried.',
  },
  {
    file: 'src/gateway/edge/request-head.ts',
    line: 'for (let index = 0; index < headers.length; index += 2) {',
    changes: ['index < headers.length -> index <= headers.length'],
    reason: 'One header more would have the name "", which means nothing.',
  },
  {
    file: 'src/audit/chain.ts',
    line: "const tail = bytes.toString('latin1', Math.max(end, 0))",
    changes: ['0 -> 1'],
    reason: 'A line for which that makes a difference is refused as too short.',
  },
  {
    file: 'src/audit/chain.ts',
    line: `if (end <= 0 || !tail.startsWith(hashMember) || !tail.endsWith('"}'))`,
    changes: ['0 -> 1'],
    reason: 'One byte before the hash is no record either; only the message is another.',
  },
]
