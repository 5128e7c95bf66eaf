process.stdin.once('data', (line) => {
  const { id } = JSON.parse(line)
  process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id, result: { tools: [] } })}\n`)
})
