import type { AcceptedFinding } from './policy-document.ts'

const accepting = /^(?<before>.*?)#\s*lint: ok\s+(?<check>[\w-]+)\s+(?<reason>\S.*?)\s*$/

/**
 * Reads the comments `# lint: ok CHECK reason` of a file. Each accepts findings about the line that it ends or, if it has a
 * line of its own, about the next line that is no comment.
 */
export function readAccepted(text: string): readonly AcceptedFinding[] {
  if (!text.includes('lint: ok')) return []
  const lines = text.split('\n')
  return lines.flatMap((line, index) => {
    const { before, check, reason } = accepting.exec(line)?.groups ?? {}
    if (before === undefined || check === undefined || reason === undefined) return []
    const below = lines.slice(index + 1).findIndex((other) => !/^\s*(?:#|$)/.test(other))
    const target = before.trim() === '' ? index + 1 + below : index
    return [{ check, reason, about: target + 1, line: index + 1, column: before.length + 1 }]
  })
}
