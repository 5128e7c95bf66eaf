import { reply, ToolError, tool } from '@jackfield/sdk'
import { z } from 'zod'
import { MailError } from '../mail.ts'
import type { TravelServices } from '../services.ts'
import { uris } from '../uris.ts'

export const sendEmail = (services: TravelServices) =>
  tool({
    title: 'Send an e-mail',
    description:
      'Send an e-mail as plain text to one person, such as an out-of-office message or a trip confirmation. Where no mail server is set up, the message is kept in the outbox and not sent; the result says which.',
    input: z.object({
      to: z.email().max(254).describe('E-mail address of the recipient'),
      subject: z
        .string()
        .trim()
        .min(1)
        .max(200)
        .refine((text) => !/[\r\n]/.test(text), 'must be one line'),
      body: z.string().min(1).max(50_000).describe('Plain text'),
    }),
    output: z.object({
      id: z.string(),
      status: z.enum(['kept', 'sent']).describe('"kept" in the outbox without a mail server, or "sent"'),
      to: z.string(),
      subject: z.string(),
    }),
    annotations: {
      readOnlyHint: false,
      destructiveHint: false,
      idempotentHint: false,
      openWorldHint: true,
    },
    async run({ to, subject, body }, ctx) {
      const { mailer, outbox } = services
      const mail = outbox.add(
        { to, subject, body, status: mailer === undefined ? 'kept' : 'sending' },
        services.now(),
      )
      services.notifyUpdated(uris.outbox)
      if (mailer === undefined) {
        return reply({
          content: `No mail server is set up, so the message to ${to} was not sent. It is kept in the outbox (${uris.outbox}) as ${mail.id}. To send mail, start the server with SMTP_URL.`,
          structured: { id: mail.id, status: 'kept' as const, to, subject },
        })
      }
      ctx.progress(1, 2, 'Handing the message to the mail server')
      try {
        await mailer.send({ to, subject, body })
      } catch (error) {
        outbox.settle(mail.id, 'failed', services.now())
        services.notifyUpdated(uris.outbox)
        if (!(error instanceof MailError)) throw error
        throw new ToolError(
          `The message to ${to} was not sent: ${error.message}. It is in the outbox as ${mail.id}.`,
          { cause: error },
        )
      }
      outbox.settle(mail.id, 'sent', services.now())
      services.notifyUpdated(uris.outbox)
      ctx.progress(2, 2, 'Sent')
      return reply({
        content: `Sent "${subject}" to ${to} (${mail.id}).`,
        structured: { id: mail.id, status: 'sent' as const, to, subject },
      })
    },
  })
