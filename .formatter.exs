[
  inputs: ["{mix,.formatter}.exs", "{bench,examples,lib,test}/**/*.{ex,exs}"],
  # Those of Plug and Phoenix, which are not always there to be imported from.
  locals_without_parens: [channel: 2, get: 2, plug: 1, plug: 2, socket: 2, socket: 3]
]
