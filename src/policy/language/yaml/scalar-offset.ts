import type { YamlScalar } from './yaml-node.ts'

/**
 * Returns the offset in the file of a character of a YAML scalar. File and text differ by quotes, escapes, folding and
 * indentation; both are scanned in parallel, skipping characters that are only in the file.
 */
export function sourceOffset(file: string, scalar: YamlScalar, indexInValue: number): number {
  const { start, end, template } = scalar
  const text = template?.text ?? String(scalar.value)
  const index = template?.indexOf(indexInValue) ?? indexInValue
  let offset = start + (isQuote(file[start]) ? 1 : 0)
  if (isBlockHeader(file[start])) offset = nextLine(file, offset)
  for (let position = 0; position < index; position++) offset = findAfter(text[position] ?? '', offset)
  return Math.min(index < text.length ? find(text[index] ?? '', offset) : offset, Math.max(start, end - 1))

  function findAfter(character: string, from: number): number {
    return find(character, from) + 1
  }

  function find(character: string, from: number): number {
    let offset = from
    while (offset < end && file[offset] !== character && !isFolded(character, offset)) offset++
    return offset
  }

  /** A single line break in the file is folded to a space in the text. */
  function isFolded(character: string, offset: number): boolean {
    return character === ' ' && file[offset] === '\n'
  }
}

// Plain scalars cannot start with these characters.
function isQuote(character: string | undefined): boolean {
  return character === '"' || character === "'"
}

function isBlockHeader(character: string | undefined): boolean {
  return character === '|' || character === '>'
}

function nextLine(file: string, offset: number): number {
  const end = file.indexOf('\n', offset)
  return end < 0 ? offset : end + 1
}
