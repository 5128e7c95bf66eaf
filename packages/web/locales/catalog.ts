/** Reads a PO file: messages in ICU syntax by their ids. @throws Error naming the first line that cannot be read */
export function readCatalog(text: string): Record<string, string> {
  const messages: Record<string, string> = {}
  let id: string | undefined
  let part: 'id' | 'text' | undefined
  for (const [n, raw] of text.split('\n').entries()) {
    const line = raw.trim()
    if (line === '' || line.startsWith('#')) continue
    const [, keyword, quoted] = /^(?:(msgid|msgstr) )?(".*")$/.exec(line) ?? []
    if (quoted === undefined) throw new Error(`Line ${n + 1} is neither msgid nor msgstr: ${line}`)
    const piece: string = JSON.parse(quoted)
    if (keyword === 'msgid') {
      id = piece
      part = 'id'
    } else if (keyword === 'msgstr') {
      if (id === undefined) throw new Error(`Line ${n + 1} has no msgid before it`)
      if (id !== '' && Object.hasOwn(messages, id)) throw new Error(`Line ${n + 1} repeats the id ${id}`)
      messages[id] = piece
      part = 'text'
    } else if (part === 'text' && id !== undefined) messages[id] += piece
    else throw new Error(`Line ${n + 1} continues nothing`)
  }
  delete messages['']
  return messages
}
