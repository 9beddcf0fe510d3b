import { open } from 'node:fs/promises'

export interface SegmentLine {
  readonly text: string
  readonly offset: number
  readonly end: number
}

/** Reads complete lines from an offset: about `bytes` bytes but at least one line, and none that ends after `to`. */
export async function readSegmentLines(
  path: string,
  { from, to, bytes }: { readonly from: number; readonly to: number; readonly bytes: number },
): Promise<SegmentLine[]> {
  const handle = await open(path)
  try {
    for (let wanted = bytes; ; wanted *= 2) {
      const length = Math.min(wanted, to - from, (await handle.stat()).size - from)
      if (length <= 0) return []
      const { buffer, bytesRead } = await handle.read(Buffer.allocUnsafe(length), 0, length, from)
      const lines = splitLines(buffer.subarray(0, bytesRead), from)
      if (lines.length > 0 || length < wanted) return lines
    }
  } finally {
    await handle.close()
  }
}

function splitLines(bytes: Buffer, offset: number): SegmentLine[] {
  const lines: SegmentLine[] = []
  let begin = 0
  for (let newline = bytes.indexOf(10); newline !== -1; newline = bytes.indexOf(10, begin)) {
    const text = bytes.toString('utf8', begin, newline)
    lines.push({ text, offset: offset + begin, end: offset + newline + 1 })
    begin = newline + 1
  }
  return lines
}
