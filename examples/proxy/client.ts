import { connect } from '@jackfield/sdk/client'

const [url = ''] = process.argv.slice(2)
for (const revision of ['2025-11-25', '2026-07-28'] as const) {
  const shop = await connect(url, {
    revisions: [revision],
    onElicit: ({ message }) => ({ action: 'accept', content: { ok: message.includes('42') } }),
  })
  const { content } = await shop.call('refund', { order: '42' })
  console.log(revision, content)
  await shop.close()
}
