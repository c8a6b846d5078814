[
  inputs: ["{mix,.formatter}.exs", "{bench,lib,test}/**/*.{ex,exs}"]
]
