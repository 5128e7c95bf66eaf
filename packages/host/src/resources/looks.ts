/** Width and height in pixels of a PNG, GIF, JPEG, WebP or BMP; undefined where the bytes do not tell. */
export function imageSize(bytes: Buffer): { width: number; height: number } | undefined {
  try {
    return sizeIn(bytes)
  } catch {
    // Cut off in the middle of what tells.
    return undefined
  }
}

function sizeIn(bytes: Buffer): { width: number; height: number } | undefined {
  switch (looksLike(bytes)) {
    case 'png':
      return { width: bytes.readUInt32BE(16), height: bytes.readUInt32BE(20) }
    case 'gif':
      return { width: bytes.readUInt16LE(6), height: bytes.readUInt16LE(8) }
    case 'bmp':
      return { width: bytes.readInt32LE(18), height: Math.abs(bytes.readInt32LE(22)) }
    case 'webp':
      return webpSize(bytes)
    case 'jpeg':
      return jpegSize(bytes)
    default:
      return undefined
  }
}

const signatures: readonly (readonly [kind: string, hex: string, at?: number])[] = [
  ['png', '89504e470d0a1a0a'],
  ['gif', '474946383961'],
  ['gif', '474946383761'],
  ['jpeg', 'ffd8ff'],
  ['webp', '57454250', 8],
  ['bmp', '424d'],
  ['pdf', '255044462d'],
  ['zip', '504b0304'],
  ['gzip', '1f8b'],
  ['sqlite', '53514c69746520666f726d6174203300'],
  ['wasm', '0061736d'],
  ['elf', '7f454c46'],
  ['mp3', '494433'],
  ['ogg', '4f676753'],
  ['flac', '664c6143'],
  ['wav', '57415645', 8],
  ['mp4', '66747970', 4],
]

/** What kind of file the first bytes say this is. */
export function looksLike(bytes: Buffer): string | undefined {
  return signatures.find(([, hex, at = 0]) => {
    const sign = Buffer.from(hex, 'hex')
    return bytes.subarray(at, at + sign.length).equals(sign)
  })?.[0]
}

function webpSize(bytes: Buffer): { width: number; height: number } | undefined {
  const form = bytes.toString('latin1', 12, 16)
  if (form === 'VP8X') return { width: bytes.readUIntLE(24, 3) + 1, height: bytes.readUIntLE(27, 3) + 1 }
  if (form === 'VP8 ') {
    return { width: bytes.readUInt16LE(26) & 0x3fff, height: bytes.readUInt16LE(28) & 0x3fff }
  }
  if (form !== 'VP8L') return undefined
  const packed = bytes.readUInt32LE(21)
  return { width: (packed & 0x3fff) + 1, height: ((packed >>> 14) & 0x3fff) + 1 }
}

/** Goes from segment to segment until the one that begins a frame. */
function jpegSize(bytes: Buffer): { width: number; height: number } | undefined {
  let at = 2
  while (at + 9 < bytes.length && bytes[at] === 0xff) {
    const marker = bytes[at + 1] ?? 0
    const isFrame = marker >= 0xc0 && marker <= 0xcf && marker !== 0xc4 && marker !== 0xc8 && marker !== 0xcc
    if (isFrame) return { width: bytes.readUInt16BE(at + 7), height: bytes.readUInt16BE(at + 5) }
    at += 2 + Math.max(2, bytes.readUInt16BE(at + 2))
  }
  return undefined
}
